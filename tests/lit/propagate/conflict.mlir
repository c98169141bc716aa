// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// RUN: shardc-opt %s -p "propagate{strategy=basic}" --no-locations | filecheck %s --check-prefix=BASIC
// x would split both dimensions of the product. The larger operand (%w) wins; the basic strategy leaves it open.
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %w: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x64xf32> {
  // CHECK: dot_general {{.*}}[{?}, {"x", ?}]
  // BASIC: dot_general
  // BASIC-NOT: sdy.sharding
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
