// Loops, branches, barriers and computations: data-flow edges added, used, and removed.
// RUN: -sdy-add-data-flow-edges
// RUN: -sdy-add-data-flow-edges -sdy-basic-propagate -sdy-sink-data-flow-edges
// RUN: -sdy-add-data-flow-edges -sdy-aggressive-propagate -sdy-sink-data-flow-edges
// RUN: -sdy-add-data-flow-edges -sdy-op-priority-propagate

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @while(%x: tensor<32x96xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {?}]>}) -> tensor<32x96xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.constant dense<32> : tensor<i32>
  %3:2 = stablehlo.while(%iterArg = %x, %iterArg_0 = %0) : tensor<32x96xf32>, tensor<i32>
    cond {
    %4 = stablehlo.compare LT, %iterArg_0, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %4 = stablehlo.add %iterArg_0, %1 : tensor<i32>
    %5 = stablehlo.add %iterArg, %iterArg : tensor<32x96xf32>
    stablehlo.return %5, %4 : tensor<32x96xf32>, tensor<i32>
  }
  return %3#0 : tensor<32x96xf32>
}

func.func @while_sharded(%x: tensor<32x96xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {?}]>}) -> tensor<32x96xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.constant dense<32> : tensor<i32>
  %3:2 = stablehlo.while(%iterArg = %x, %iterArg_0 = %0) : tensor<32x96xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"b", ?}]>, <@m, []>]>}
    cond {
    %4 = stablehlo.compare LT, %iterArg_0, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %4 = stablehlo.add %iterArg_0, %1 : tensor<i32>
    %5 = stablehlo.add %iterArg, %iterArg : tensor<32x96xf32>
    stablehlo.return %5, %4 : tensor<32x96xf32>, tensor<i32>
  }
  return %3#0 : tensor<32x96xf32>
}

func.func @case(%i: tensor<i32>, %x: tensor<8xi64>, %y: tensor<8xi64> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}) -> tensor<8xi64> {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<8xi64>
  }, {
    %2 = stablehlo.negate %y : tensor<8xi64>
    stablehlo.return %2 : tensor<8xi64>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}]>]>} : (tensor<i32>) -> tensor<8xi64>
  %1 = stablehlo.add %0, %0 : tensor<8xi64>
  return %1 : tensor<8xi64>
}

func.func @token(%i: tensor<i32>, %t: !stablehlo.token, %y: tensor<8xi64> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}) -> (!stablehlo.token, tensor<8xi64>) {
  %0:2 = "stablehlo.case"(%i) ({
    stablehlo.return %t, %y : !stablehlo.token, tensor<8xi64>
  }, {
    stablehlo.return %t, %y : !stablehlo.token, tensor<8xi64>
  }) : (tensor<i32>) -> (!stablehlo.token, tensor<8xi64>)
  return %0#0, %0#1 : !stablehlo.token, tensor<8xi64>
}

func.func @barrier(%x: tensor<8xf32>, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

func.func @named(%x: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = sdy.named_computation<"foo">(%x) in_shardings=[<@m, [{"a", ?}, {?}]>] out_shardings=[<@m, [{?}, {"b"}]>] (%arg1: tensor<8x2xi32>) {
    %1 = stablehlo.multiply %arg1, %arg1 : tensor<8x2xi32>
    sdy.return %1 : tensor<8x2xi32>
  } : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %0 : tensor<8x2xi32>
}

func.func @named_plain(%x: tensor<8x2xi32>) -> tensor<8x2xi32> {
  %0 = sdy.named_computation<"foo">(%x) (%arg1: tensor<8x2xi32>) {
    %1 = stablehlo.multiply %arg1, %arg1 : tensor<8x2xi32>
    sdy.return %1 : tensor<8x2xi32>
  } : (tensor<8x2xi32>) -> tensor<8x2xi32>
  return %0 : tensor<8x2xi32>
}

func.func @manual(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = stablehlo.subtract %x, %x : tensor<32x32xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"a", ?}, {"b", ?}]>] out_shardings=[<@m, [{"a", ?}, {?}]>] manual_axes={"a"} (%arg1: tensor<16x32xf32>) {
    %3 = stablehlo.add %arg1, %arg1 : tensor<16x32xf32>
    sdy.return %3 : tensor<16x32xf32>
  } : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = stablehlo.subtract %1, %1 : tensor<32x32xf32>
  return %2: tensor<32x32xf32>
}

func.func @manual_no_inputs() -> tensor<4xf32> {
  %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@m, [{"b"}]>] manual_axes={"b"} () {
    %1 = stablehlo.constant dense<2.0> : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @manual_no_outputs(%x: tensor<8xf32>) -> tensor<8xf32> {
  sdy.manual_computation(%x) in_shardings=[<@m, [{"b"}]>] out_shardings=[] manual_axes={"b"} (%arg1: tensor<4xf32>) {
    stablehlo.custom_call @sdy_testonly(%arg1) : (tensor<4xf32>) -> ()
    sdy.return
  } : (tensor<8xf32>) -> ()
  return %x : tensor<8xf32>
}

func.func @nested(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.optimization_barrier %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
