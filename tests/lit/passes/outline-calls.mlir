// RUN: shardc-opt %s -p outline-calls --no-locations --split-input-file | filecheck %s

// Two calls that were compiled alike become one function again.
// CHECK-LABEL: @main
// CHECK: [[ONE:%.*]] = func.call @layer(%a, %v)
// CHECK-NEXT: [[TWO:%.*]] = func.call @layer([[ONE]], %w)
// CHECK-NEXT: sdy.return [[TWO]]
// CHECK: func.func private @layer(
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: func.return
// CHECK-NOT: func.func private
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@ring, [{"r"}]>, <@ring, [{"r"}]>, <@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>) {
    %1 = stablehlo.multiply %a, %v {shardc.call = "layer#0"} : tensor<2xf32>
    %2 = stablehlo.tanh %1 {shardc.call = "layer#0"} : tensor<2xf32>
    %3 = stablehlo.multiply %2, %w {shardc.call = "layer#1"} : tensor<2xf32>
    %4 = stablehlo.tanh %3 {shardc.call = "layer#1"} : tensor<2xf32>
    sdy.return %4 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Calls that came out differently are functions of their own. A call that something moved into stays inline.
// CHECK-LABEL: @main
// CHECK: func.call @f(
// CHECK-NEXT: func.call @f_2(
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.sine
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: sdy.return
// CHECK: func.func private @f(
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.negate
// CHECK: func.func private @f_2(
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.cosine
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>) {
    %1 = stablehlo.tanh %a {shardc.call = "f#0"} : tensor<2xf32>
    %2 = stablehlo.negate %1 {shardc.call = "f#0"} : tensor<2xf32>
    %3 = stablehlo.tanh %2 {shardc.call = "f#1"} : tensor<2xf32>
    %4 = stablehlo.cosine %3 {shardc.call = "f#1"} : tensor<2xf32>
    %5 = stablehlo.tanh %4 {shardc.call = "f#2"} : tensor<2xf32>
    %6 = stablehlo.sine %5 : tensor<2xf32>
    %7 = stablehlo.tanh %6 {shardc.call = "f#2"} : tensor<2xf32>
    sdy.return %7 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Functions that call functions come back as they were.
// CHECK-LABEL: @main
// CHECK: func.call @outer(
// CHECK-NEXT: sdy.return
// CHECK: func.func private @inner(
// CHECK-NEXT: stablehlo.sine
// CHECK-NEXT: stablehlo.cosine
// CHECK: func.func private @outer(
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: func.call @inner(
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>) {
    %1 = stablehlo.tanh %a {shardc.call = "outer#0"} : tensor<2xf32>
    %2 = stablehlo.sine %1 {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
    %3 = stablehlo.cosine %2 {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
    sdy.return %3 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A loop that a call made goes with it, whole: what is inside makes no functions.
// CHECK-LABEL: @main
// CHECK: func.call @layers(
// CHECK: func.func private @layers(
// CHECK: stablehlo.while
// CHECK-NOT: func.func private
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>) {
    %1 = stablehlo.constant {shardc.call = "layers#0"} dense<0> : tensor<i32>
    %2 = stablehlo.constant {shardc.call = "layers#0"} dense<3> : tensor<i32>
    %3 = stablehlo.constant {shardc.call = "layers#0"} dense<1> : tensor<i32>
    %4:2 = "stablehlo.while"(%1, %a) ({
    ^bb0(%i: tensor<i32>, %h: tensor<2xf32>):
      %5 = stablehlo.add %i, %3 {shardc.call = "layers#0"} : tensor<i32>
      %6 = stablehlo.compare LE, %5, %2, SIGNED {shardc.call = "layers#0"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<2xf32>):
      %7 = stablehlo.tanh %h {shardc.call = "layers#0"} : tensor<2xf32>
      %8 = stablehlo.add %i, %3 {shardc.call = "layers#0"} : tensor<i32>
      stablehlo.return %8, %7 : tensor<i32>, tensor<2xf32>
    }) {shardc.call = "layers#0"} : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
    sdy.return %4#1 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// So are calls that differ in nothing but the shapes inside: rows reversed, and elements.
// CHECK-LABEL: @main
// CHECK: [[ONE:%.*]] = func.call @g(%a)
// CHECK-NEXT: func.call @g_2([[ONE]])
// CHECK: func.func private @g(
// CHECK-NEXT: stablehlo.reshape {{.*}} -> tensor<2x2xf32>
// CHECK: func.func private @g_2(
// CHECK-NEXT: stablehlo.reshape {{.*}} -> tensor<4x1xf32>
sdy.mesh @ring = <["r"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<4xf32>) {
    %1 = stablehlo.reshape %a {shardc.call = "g#0"} : (tensor<4xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.reverse %1, dims = [0] {shardc.call = "g#0"} : tensor<2x2xf32>
    %3 = stablehlo.reshape %2 {shardc.call = "g#0"} : (tensor<2x2xf32>) -> tensor<4xf32>
    %4 = stablehlo.reshape %3 {shardc.call = "g#1"} : (tensor<4xf32>) -> tensor<4x1xf32>
    %5 = stablehlo.reverse %4, dims = [0] {shardc.call = "g#1"} : tensor<4x1xf32>
    %6 = stablehlo.reshape %5 {shardc.call = "g#1"} : (tensor<4x1xf32>) -> tensor<4xf32>
    sdy.return %6 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A function that only calls another has that one's body, under its own name, or under the other's where that is
// called elsewhere too.
// CHECK-LABEL: @main
// CHECK: [[ONE:%.*]] = func.call @inner(%a)
// CHECK-NEXT: [[TWO:%.*]] = func.call @inner([[ONE]])
// CHECK-NEXT: func.call @model([[TWO]])
// CHECK: func.func private @inner(
// CHECK: func.func private @model(
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.negate
// CHECK-NOT: func.func private
sdy.mesh @ring = <["r"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<4xf32>) {
    %1 = stablehlo.sine %a {shardc.call = "outer#0/inner#0"} : tensor<4xf32>
    %2 = stablehlo.negate %1 {shardc.call = "outer#0/inner#0"} : tensor<4xf32>
    %3 = stablehlo.sine %2 {shardc.call = "inner#1"} : tensor<4xf32>
    %4 = stablehlo.negate %3 {shardc.call = "inner#1"} : tensor<4xf32>
    %5 = stablehlo.tanh %4 {shardc.call = "model#0/layer#0"} : tensor<4xf32>
    %6 = stablehlo.negate %5 {shardc.call = "model#0/layer#0"} : tensor<4xf32>
    sdy.return %6 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The numbers that JAX puts behind names that are taken go.
// CHECK-LABEL: @main
// CHECK: [[ONE:%.*]] = func.call @block(%a)
// CHECK-NEXT: func.call @block([[ONE]])
// CHECK: func.func private @block(
// CHECK-NOT: func.func private
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @ring = <["r"=2]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<4xf32>) {
      %1 = stablehlo.sine %a {shardc.call = "block#0"} : tensor<4xf32>
      %2 = stablehlo.negate %1 {shardc.call = "block#0"} : tensor<4xf32>
      %3 = stablehlo.sine %2 {shardc.call = "block_9#0"} : tensor<4xf32>
      %4 = stablehlo.negate %3 {shardc.call = "block_9#0"} : tensor<4xf32>
      sdy.return %4 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A loop is of one call with its condition and its body, also where it is inside of two.
// CHECK-LABEL: @main
// CHECK: func.call @outer(
// CHECK: func.func private @inner(
// CHECK: stablehlo.while
// CHECK-NOT: func.call
// CHECK: func.return
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{"r"}]>] manual_axes={"r"} (%a: tensor<2xf32>) {
    %1 = stablehlo.tanh %a {shardc.call = "outer#0"} : tensor<2xf32>
    %2 = stablehlo.tanh %1 {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
    %3 = stablehlo.while(%b = %2) : tensor<2xf32> attributes {shardc.call = "outer#0/inner#0"}
    cond {
      %4 = stablehlo.constant {shardc.call = "outer#0/inner#0"} dense<1.0> : tensor<f32>
      %5 = stablehlo.slice %b [0:1] {shardc.call = "outer#0/inner#0"} : (tensor<2xf32>) -> tensor<1xf32>
      %6 = stablehlo.reshape %5 {shardc.call = "outer#0/inner#0"} : (tensor<1xf32>) -> tensor<f32>
      %7 = stablehlo.compare LT, %6, %4 {shardc.call = "outer#0/inner#0"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %4 = stablehlo.exponential %b {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
      %5 = stablehlo.add %4, %4 {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
      stablehlo.return %5 : tensor<2xf32>
    }
    %8 = stablehlo.tanh %3 {shardc.call = "outer#0/inner#0"} : tensor<2xf32>
    sdy.return %8 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
