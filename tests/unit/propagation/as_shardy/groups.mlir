// Values that are sharded alike because the program says so.
// RUN: -split-input-file -sdy-basic-propagate
// RUN: -split-input-file -sdy-user-priority-propagate

sdy.mesh @m = <["a"=2, "b"=2, "c"=2, "d"=2]>
func.func @barrier(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}) -> tensor<8x8xf32> {
  %0 = sdy.constant dense<0.000000e+00> : tensor<8x8xf32>
  %1 = sdy.constant dense<0.000000e+00> : tensor<8x8xf32>
  %2 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  %3 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<8x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<8x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8x8xf32>
  sdy.sharding_group %4 group_id=0 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", ?}, {?}]>}) -> (tensor<8x8xf32>) {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  sdy.sharding_group %0 group_id = 1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @fb(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  %1 = stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
  sdy.sharding_group %1 group_id = 1 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2, "c"=2, "d"=2]>
func.func @edge(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"d"}]>}) -> tensor<16x16xf32> {
  %4 = stablehlo.constant dense<1.0> : tensor<16x16xf32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %inc = stablehlo.constant dense<1> : tensor<i32>
  %comp = stablehlo.constant dense<32> : tensor<i32>
  %1:2 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %0) : tensor<16x16xf32>, tensor<i32>
    cond {
    %2 = stablehlo.compare  LT, %iterArg_2, %comp : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %iterArg_2, %inc : tensor<i32>
    %3 = stablehlo.add %iterArg, %iterArg : tensor<16x16xf32>
    sdy.sharding_group %3 group_id = 3 : tensor<16x16xf32>
    stablehlo.return %3, %2 : tensor<16x16xf32>, tensor<i32>
  }
  %5 = sdy.data_flow_edge %1#0 : tensor<16x16xf32>
  %6 = sdy.data_flow_edge %1#1 : tensor<i32>
  sdy.sharding_group %4 group_id = 3 : tensor<16x16xf32>
  return %5 : tensor<16x16xf32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2, "c"=2, "d"=2]>
func.func @ids(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b", ?}]>}, %arg3: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  sdy.sharding_group %arg0 group_id=5 : tensor<8x8xf32>
  sdy.sharding_group %arg1 group_id=5 : tensor<8x8xf32>
  sdy.sharding_group %arg2 group_id=4 : tensor<8x8xf32>
  sdy.sharding_group %arg3 group_id=4 : tensor<8x8xf32>
  return %arg0, %arg1, %arg2, %arg3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// -----
sdy.mesh @m = <["a"=2, "b"=2, "c"=2, "d"=2]>
func.func @prio(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}p0, {"c", ?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"c", "a",?}p1, {"b", ?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
  %1 = stablehlo.add %arg1, %arg1 : tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  sdy.sharding_group %0 group_id = 2 : tensor<8x8xf32>
  sdy.sharding_group %1 group_id = 2 : tensor<8x8xf32>
  sdy.sharding_group %2 group_id = 2 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
