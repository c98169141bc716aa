// RUN: shardc-opt %s -sdy-aggressive-propagate='propagation-strategy=basic' | filecheck %s
// A layer by Shardy's name knows the data-flow edges that stand in the module, and no others.
sdy.mesh @mesh = <["a"=2]>

func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %0 = stablehlo.optimization_barrier %arg0 : tensor<8xf32>
  // CHECK-NEXT: %1 = stablehlo.optimization_barrier %arg0 : tensor<8xf32>
  // CHECK-NEXT: %2 = sdy.data_flow_edge %1 sharding=<@mesh, [{"a", ?}]> : tensor<8xf32>
  // CHECK-NEXT: return %0, %2
  %0 = stablehlo.optimization_barrier %arg0 : tensor<8xf32>
  %1 = stablehlo.optimization_barrier %arg0 : tensor<8xf32>
  %2 = sdy.data_flow_edge %1 : tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}
