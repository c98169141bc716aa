// RUN: shardc-opt %s -p 'outline-repeats{least=3}' --no-locations --split-input-file | filecheck %s

// Layers that are written out one after the other become calls of one function, which has their constants.
// CHECK-LABEL: @main
// CHECK: [[ONE:%.*]] = func.call @layer(%a, %v)
// CHECK-NEXT: [[TWO:%.*]] = func.call @layer([[ONE]], %w)
// CHECK-NEXT: sdy.return [[TWO]]
// CHECK: func.func private @layer(
// CHECK-NEXT: stablehlo.multiply %a, %v
// CHECK-NEXT: %c = stablehlo.constant dense<2.000000e+00>
// CHECK-NEXT: stablehlo.add {{%.*}}, %c
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: func.return
// CHECK-NOT: func.func private
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>) {
    %c = stablehlo.constant dense<2.0> : tensor<2xf32>
    %1 = stablehlo.multiply %a, %v : tensor<2xf32>
    %2 = stablehlo.add %1, %c : tensor<2xf32>
    %3 = stablehlo.tanh %2 : tensor<2xf32>
    %4 = stablehlo.multiply %3, %w : tensor<2xf32>
    %5 = stablehlo.add %4, %c : tensor<2xf32>
    %6 = stablehlo.tanh %5 : tensor<2xf32>
    sdy.return %6 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Operations alike that take their operands from elsewhere are no layers; what any layer gives, all return.
// CHECK-LABEL: @main
// CHECK: [[SINE:%.*]], [[ONE:%.*]] = func.call @layer(
// CHECK-NEXT: {{%.*}}, [[TWO:%.*]] = func.call @layer([[ONE]],
// CHECK-NEXT: stablehlo.multiply [[TWO]], [[TWO]]
// CHECK-NEXT: stablehlo.sine
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.add {{%.*}}, [[SINE]]
// CHECK-NEXT: sdy.return
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>) {
    %1 = stablehlo.multiply %a, %v : tensor<2xf32>
    %2 = stablehlo.sine %1 : tensor<2xf32>
    %3 = stablehlo.tanh %2 : tensor<2xf32>
    %4 = stablehlo.multiply %3, %w : tensor<2xf32>
    %5 = stablehlo.sine %4 : tensor<2xf32>
    %6 = stablehlo.tanh %5 : tensor<2xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2xf32>
    %8 = stablehlo.sine %7 : tensor<2xf32>
    %9 = stablehlo.tanh %8 : tensor<2xf32>
    %10 = stablehlo.add %9, %2 : tensor<2xf32>
    sdy.return %10 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What differs between devices and what does not are not alike: JAX would take both for different.
// CHECK-LABEL: @main
// CHECK-NOT: func.call
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>, %y: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
  %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@ring, [{"r"}]>, <@ring, [{}]>] out_shardings=[<@ring, [{"r"}]>, <@ring, [{}]>] manual_axes={"r"} (%a: tensor<2xf32>, %v: tensor<2xf32>) {
    %1 = stablehlo.multiply %a, %a : tensor<2xf32>
    %2 = stablehlo.sine %1 : tensor<2xf32>
    %3 = stablehlo.tanh %2 : tensor<2xf32>
    %4 = stablehlo.multiply %v, %v : tensor<2xf32>
    %5 = stablehlo.sine %4 : tensor<2xf32>
    %6 = stablehlo.tanh %5 : tensor<2xf32>
    sdy.return %3, %6 : tensor<2xf32>, tensor<2xf32>
  } : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<2xf32>
}

// -----

// Parameters are called by what the layers' names have in common; each call names its own results.
// CHECK-LABEL: @named
// CHECK: %s1, %h1 = func.call @layer(%a, %w1)
// CHECK-NEXT: %s2, %h2 = func.call @layer(%h1, %w2)
// CHECK: func.func private @layer(%a: tensor<2xf32>, %w: tensor<2xf32>)
// CHECK: %s = stablehlo.sine
// CHECK: %h = stablehlo.tanh
sdy.mesh @ring = <["r"=4]>
func.func @named(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>, %w1: tensor<2xf32>, %w2: tensor<2xf32>) {
    %1 = stablehlo.multiply %a, %w1 : tensor<2xf32>
    %s1 = stablehlo.sine %1 : tensor<2xf32> loc("s1")
    %h1 = stablehlo.tanh %s1 : tensor<2xf32> loc("h1")
    %2 = stablehlo.multiply %h1, %w2 : tensor<2xf32>
    %s2 = stablehlo.sine %2 : tensor<2xf32> loc("s2")
    %h2 = stablehlo.tanh %s2 : tensor<2xf32> loc("h2")
    %3 = stablehlo.add %s1, %s2 : tensor<2xf32>
    %4 = stablehlo.add %3, %h2 : tensor<2xf32>
    sdy.return %4 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Of what does not hang together no part has three operations: that is no layer.
// CHECK-LABEL: @apart
// CHECK-NOT: func.call
sdy.mesh @ring = <["r"=4]>
func.func @apart(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0:4 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>) {
    %1 = stablehlo.multiply %a, %v : tensor<2xf32>
    %2 = stablehlo.sine %1 : tensor<2xf32>
    %3 = stablehlo.add %a, %w : tensor<2xf32>
    %4 = stablehlo.tanh %3 : tensor<2xf32>
    %5 = stablehlo.multiply %v, %w : tensor<2xf32>
    %6 = stablehlo.sine %5 : tensor<2xf32>
    %7 = stablehlo.add %v, %a : tensor<2xf32>
    %8 = stablehlo.tanh %7 : tensor<2xf32>
    sdy.return %2, %4, %6, %8 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
