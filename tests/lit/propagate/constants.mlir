// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// Two uses that are sharded differently get a constant each; uses that agree keep sharing one.
sdy.mesh @m = <["x"=2, "y"=4]>

func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[Y:.*]] = stablehlo.constant {{.*}}[{"y", ?}]
  // CHECK: %[[X:.*]] = stablehlo.constant {{.*}}[{"x", ?}]
  // CHECK-NOT: constant
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  // CHECK: add %a, %[[X]]
  %0 = stablehlo.add %a, %c : tensor<8xf32>
  // CHECK: add %b, %[[Y]]
  %1 = stablehlo.add %b, %c : tensor<8xf32>
  // CHECK: multiply %a, %[[X]]
  %2 = stablehlo.multiply %a, %c : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
