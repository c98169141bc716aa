// RUN: shardc-opt %s -p inline-calls --no-locations --split-input-file | filecheck %s

// Every operation remembers the calls it came from, and what a callee says about its parameters binds.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %h = sdy.sharding_constraint %x <@pod, [{"data"}]>
// CHECK-NEXT: stablehlo.tanh %h {shardc.call = "layer#0"}
// CHECK-NEXT: stablehlo.add {{.*}} {shardc.call = "layer#0/twice#0"}
// CHECK-NEXT: sdy.sharding_constraint {{.*}} <@pod, [{"data"}]>
// CHECK-NEXT: stablehlo.tanh {{.*}} {shardc.call = "layer#1"}
// CHECK-NEXT: stablehlo.add {{.*}} {shardc.call = "layer#1/twice#1"}
// CHECK-NEXT: func.return
// CHECK-NOT: func.func private
sdy.mesh @pod = <["data"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @layer(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @layer(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @layer(%h: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %h : tensor<8xf32>
  %1 = func.call @twice(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @twice(%h: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %h, %h : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A sharding that a callee gives its result becomes a constraint after its body.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[MADE:%.*]] = stablehlo.tanh %x
// CHECK-NEXT: [[BOUND:%.*]] = sdy.sharding_constraint [[MADE]] <@pod, [{"data"}]>
// CHECK-NEXT: func.return [[BOUND]]
sdy.mesh @pod = <["data"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%h: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}]>}) {
  %0 = stablehlo.tanh %h : tensor<8xf32>
  return %0 : tensor<8xf32>
}
