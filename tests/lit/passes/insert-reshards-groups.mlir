// RUN: shardc-opt %s -p propagate,insert-reshards --no-locations | filecheck %s

// The members of a group are sharded alike already: nothing is gathered for the group.

sdy.mesh @m = <["a"=2, "b"=2]>

// CHECK-LABEL: func.func @main
// CHECK: sdy.sharding_constraint %{{.*}} <@m, [{"a", ?}, {?}]>
// CHECK-NOT: sdy.reshard
// CHECK: stablehlo.add {{.*}}<@m, [{"a"}, {}]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %y: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.tanh %x : tensor<8x16xf32>
  %1 = stablehlo.tanh %y : tensor<8x16xf32>
  %2 = sdy.sharding_constraint %1 <@m, [{?}, {?}]> : tensor<8x16xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8x16xf32>
  sdy.sharding_group %2 group_id=0 : tensor<8x16xf32>
  %3 = stablehlo.add %2, %2 : tensor<8x16xf32>
  return %0, %3 : tensor<8x16xf32>, tensor<8x16xf32>
}
