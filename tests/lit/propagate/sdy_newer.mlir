// RUN: shardc-opt %s -sdy-propagate-unreduced-across-call-boundaries | filecheck %s --check-prefix=CARRY
// RUN: shardc-opt %s -sdy-translate-mesh="old-mesh-name=m axis-names='rows,columns'" | filecheck %s --check-prefix=NAMES
// RUN: shardc-opt %s -sdy-deduplicate-constants | filecheck %s --check-prefix=ONE
// Passes of newer Shardys. A mesh may be written with its attribute's name.
sdy.mesh @m = #sdy.mesh<["x"=2, "y"=4]>
sdy.mesh @other = <["x"=8]>

// NAMES:     sdy.mesh @m = <["rows"=2, "columns"=4]>
// NAMES:     sdy.mesh @other = <["x"=8]>

// CARRY: func.func private @taken(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {?}], unreduced={"x"}>})
// CARRY-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>})
func.func private @taken(%a: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// The axis splits nothing and is not kept replicated where the value is partial over it; the kind goes along.
// CARRY: @given(%arg0: tensor<8x8xf32> {{.*}}unreduced={"x"}>})
// CARRY-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {}], unreduced=max{"x"}>})
func.func private @given(%a: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y", ?}, {}]>}) {
  %0 = stablehlo.tanh %a
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}], unreduced=max{"x"}>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CARRY: call @taken(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CARRY: call @given(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}], unreduced=max{"x"}>]>}
// CARRY: call @given(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {?}], unreduced=max{"x"}>]>}
func.func @main(%p: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}], unreduced={"x"}>})
    -> tensor<8x8xf32> {
  %0 = call @taken(%p) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @given(%p)
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}], replicated={"x"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @given(%p) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// NAMES: sdy.manual_computation(%arg0) in_shardings=[<@m, [{"rows", "columns":(1)2, ?}p1]>]
// NAMES-SAME: out_shardings=[<@m, [{"columns":(1)2, ?}], replicated={"rows"}>] manual_axes={"rows"}
// NAMES: stablehlo.tanh %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"x"}]>]>}
func.func @names(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x", "y":(1)2, ?}p1]>]
      out_shardings=[<@m, [{"y":(1)2, ?}], replicated={"x"}>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %2 = stablehlo.concatenate %b, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"x"}]>]>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Of one region, with the same attributes; an iota is no constant.
// ONE-LABEL: @constants
// ONE:      %[[A:.*]] = sdy.constant dense<1.000000e+00>
// ONE-NEXT: %[[I:.*]] = stablehlo.iota
// ONE-NEXT: %[[J:.*]] = stablehlo.iota
// ONE-NEXT: %[[B:.*]] = sdy.constant {sdy.sharding
// ONE-NEXT: return %[[A]], %[[A]], %[[B]], %[[I]], %[[J]]
func.func @constants() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = sdy.constant dense<1.0> : tensor<8xf32>
  %1 = sdy.constant dense<1.0> : tensor<8xf32>
  %2 = stablehlo.iota dim = 0 : tensor<8xf32>
  %3 = stablehlo.iota dim = 0 : tensor<8xf32>
  %4 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} dense<1.0> : tensor<8xf32>
  return %0, %1, %4, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
