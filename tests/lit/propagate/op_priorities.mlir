// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// RUN: shardc-opt %s -p "propagate{op-priorities=false}" --no-locations | filecheck %s --check-prefix=ATONCE
// Elementwise operations settle things among themselves before contractions have a say.
sdy.mesh @m = <["x"=2, "y"=4]>

func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}, %w: tensor<8x8xf32>,
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {"x", ?}]>}) -> tensor<8x8xf32> {
  // CHECK: dot_general {{.*}}[{"y", ?}, {"x", ?}]
  // ATONCE: dot_general {{.*}}[{"x", ?}, {?}]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %b : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
