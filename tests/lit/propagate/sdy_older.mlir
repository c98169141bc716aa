// RUN: shardc-opt %s -sdy-constant-splitter | filecheck %s --check-prefix=SPLIT
// RUN: shardc-opt %s -sdy-constant-merger | filecheck %s --check-prefix=MERGE
// RUN: shardc-opt %s -sdy-equilise-call-and-func-result-shardings | filecheck %s --check-prefix=CALL
// Names of older Shardys.
sdy.mesh @m = <["x"=2]>

func.func private @f(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  return %a : tensor<8xf32>
}

// SPLIT-LABEL: @main
// SPLIT-COUNT-3: sdy.constant
// SPLIT-NOT: constant
// MERGE-LABEL: @main
// MERGE: constant
// MERGE-NOT: constant
// CALL: call @f(%{{.*}}) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %2 = stablehlo.add %a, %0 : tensor<8xf32>
  %3 = stablehlo.multiply %0, %1 : tensor<8xf32>
  %4 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
