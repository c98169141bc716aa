// RUN: shardc-opt %s -p insert-reshards --no-locations 2>&1 | filecheck %s

// What cannot run on blocks gathers its operand, and the compiler says what that costs.
// CHECK: [[WHOLE:%.*]] = sdy.reshard %x <@ring, [{}]>
// CHECK: "stablehlo.sort"([[WHOLE]])
// CHECK: insert-reshards-gathered.mlir:11:3: warning: sort cannot run on blocks of dimension 0 of x
// CHECK-SAME: 48 bytes per device
// CHECK: note: leave dimension 0 whole, or split another one
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<16xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
