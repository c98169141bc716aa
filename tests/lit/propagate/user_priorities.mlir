// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// p1 waits until everything of priority 0 is settled; then it finds the sum taken.
sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK: %a: {{.*}}[{"x", ?}]>}, %b: {{.*}}[{"y", ?}]>})
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}p1]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}]>}) -> tensor<8xf32> {
  // CHECK: add {{.*}}[{"y", ?}]
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
