// RUN: shardc-opt %s -p simplify-local --no-locations | filecheck %s

// Slices of everything, products with one, reshapes to the same shape, one element the other way round: all
// of it is %x.
// CHECK-LABEL: @identities
// CHECK-NEXT: stablehlo.tanh %x
// CHECK-NEXT: func.return
func.func @identities(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<8x4xf32>
  %0 = stablehlo.slice %x [0:8, 0:4] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.multiply %0, %one : tensor<8x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.tanh %3 : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// CHECK-LABEL: @turned
// CHECK-NEXT: [[TURNED:%.*]] = stablehlo.reverse %x, dims = [0, 2]
// CHECK-NEXT: func.return %x, [[TURNED]]
func.func @turned(%x: tensor<1x1x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<1x1x4xf32>
  %1 = stablehlo.reverse %x, dims = [0, 2] : tensor<1x1x4xf32>
  return %0, %1 : tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

// Zero changes no integer; added to a float that is -0.0, it does.
// CHECK-LABEL: @plus_zero
// CHECK: [[Y:%.*]] = stablehlo.add %y, {{%.*}} : tensor<4xf32>
// CHECK-NEXT: func.return %x, [[Y]]
func.func @plus_zero(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<4xi32>
  %1 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %2 = stablehlo.add %0, %x : tensor<4xi32>
  %3 = stablehlo.add %y, %1 : tensor<4xf32>
  return %2, %3 : tensor<4xi32>, tensor<4xf32>
}

// Nothing is taken from a number, or a number from zero twice; it is divided by one. -0.0 is no 0.0.
// CHECK-LABEL: @minus_zero
// CHECK: [[Z:%.*]] = stablehlo.subtract %y, {{%.*}}
// CHECK-NEXT: func.return %x, %y, [[Z]], %y, %y
func.func @minus_zero(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<4xi32>
  %1 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %2 = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %3 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %4 = stablehlo.subtract %x, %0 : tensor<4xi32>
  %5 = stablehlo.subtract %y, %1 : tensor<4xf32>
  %6 = stablehlo.subtract %y, %2 : tensor<4xf32>
  %7 = stablehlo.negate %y : tensor<4xf32>
  %8 = stablehlo.negate %7 : tensor<4xf32>
  %9 = stablehlo.divide %y, %3 : tensor<4xf32>
  return %4, %5, %6, %8, %9 : tensor<4xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A zero is added to no float, unless nothing tells -0.0 from 0.0 in what is made of the sum.
// CHECK-LABEL: @sign_of_zero
// CHECK: [[ROOT:%.*]] = stablehlo.sqrt %x
// CHECK-NEXT: [[Y:%.*]] = stablehlo.add [[ROOT]], {{%.*}}
// CHECK-NEXT: [[SUM:%.*]] = stablehlo.add %x, {{%.*}}
// CHECK-NEXT: [[INVERSE:%.*]] = stablehlo.rsqrt [[SUM]]
// CHECK-NEXT: func.return [[Y]], [[INVERSE]]
func.func @sign_of_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = stablehlo.constant dense<1.0e-8> : tensor<4xf32>
  %2 = stablehlo.add %x, %0 : tensor<4xf32>
  %3 = stablehlo.sqrt %2 : tensor<4xf32>
  %4 = stablehlo.add %3, %1 : tensor<4xf32>
  %5 = stablehlo.add %x, %0 : tensor<4xf32>
  %6 = stablehlo.rsqrt %5 : tensor<4xf32>
  return %4, %6 : tensor<4xf32>, tensor<4xf32>
}

// What follows a constant number is a constant.
// CHECK-LABEL: @next
// CHECK: stablehlo.constant dense<0.999999821>
// CHECK-NOT: chlo.next_after
func.func @next() -> tensor<f32> {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = chlo.next_after %0, %1 : tensor<f32>, tensor<f32> -> tensor<f32>
  %3 = chlo.next_after %2, %1 : tensor<f32>, tensor<f32> -> tensor<f32>
  %4 = chlo.next_after %3, %1 : tensor<f32>, tensor<f32> -> tensor<f32>
  return %4 : tensor<f32>
}

// So is a shift of integers.
// CHECK-LABEL: @shifted
// CHECK: stablehlo.constant dense<0> : tensor<ui32>
// CHECK-NOT: stablehlo.shift_right_logical
func.func @shifted() -> tensor<ui32> {
  %0 = stablehlo.constant dense<42> : tensor<ui32>
  %1 = stablehlo.constant dense<32> : tensor<ui32>
  %2 = stablehlo.shift_right_logical %0, %1 : tensor<ui32>
  return %2 : tensor<ui32>
}

// A reduction over no dimension is what it reduces, if it starts with what changes nothing.
// CHECK-LABEL: @over_nothing
// CHECK: [[Y:%.*]] = stablehlo.reduce(%x init: {{%.*}}) applies stablehlo.maximum across dimensions = []
// CHECK-NEXT: [[Z:%.*]] = stablehlo.reduce(%x init: {{%.*}}) applies stablehlo.add across dimensions = [0]
// CHECK-NEXT: func.return %x, [[Y]], [[Z]], %p
func.func @over_nothing(%x: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xi1>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.constant dense<false> : tensor<i1>
  %5 = stablehlo.reduce(%p init: %4) applies stablehlo.or across dimensions = [] : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  return %1, %2, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xi1>
}

// Nor is it one over dimensions of size 1 that were only just added; others stay.
// CHECK-LABEL: @over_added
// CHECK: [[R:%.*]] = stablehlo.reshape %x
// CHECK: [[A:%.*]] = stablehlo.reduce([[R]] init: {{%.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: [[T:%.*]] = stablehlo.broadcast_in_dim %y, dims = [2, 0]
// CHECK: [[B:%.*]] = stablehlo.reduce([[T]] init: {{%.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: [[S:%.*]] = stablehlo.reduce(%x init: {{%.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: func.return %x, [[A]], %y, [[B]], [[S]]
func.func @over_added(%x: tensor<1x4xf32>, %y: tensor<4x4xf32>, %one: tensor<f32>) -> (tensor<1x4xf32>, tensor<4x1xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reshape %x : (tensor<1x4xf32>) -> tensor<1x1x4x1xf32>
  %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [0, 3] : (tensor<1x1x4x1xf32>, tensor<f32>) -> tensor<1x4xf32>
  %3 = stablehlo.reshape %x : (tensor<1x4xf32>) -> tensor<1x4x1xf32>
  %4 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %5 = stablehlo.broadcast_in_dim %y, dims = [0, 2] : (tensor<4x4xf32>) -> tensor<4x1x4xf32>
  %6 = stablehlo.reduce(%5 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<4x1x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %7 = stablehlo.broadcast_in_dim %y, dims = [2, 0] : (tensor<4x4xf32>) -> tensor<4x1x4xf32>
  %8 = stablehlo.reduce(%7 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<4x1x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %9 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %2, %4, %6, %8, %9 : tensor<1x4xf32>, tensor<4x1xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// A transposition is not the identity, though the type stays.
// CHECK-LABEL: @transposition
// CHECK-NEXT: stablehlo.broadcast_in_dim %x, dims = [1, 0]
func.func @transposition(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// Equal operations are done once, unused ones not at all.
// CHECK-LABEL: @common
// CHECK-NEXT: [[T:%.*]] = stablehlo.tanh %x
// CHECK-NEXT: stablehlo.add [[T]], [[T]]
// CHECK-NEXT: func.return
func.func @common(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tanh %x : tensor<4xf32>
  %2 = stablehlo.sine %x : tensor<4xf32>
  %3 = stablehlo.add %0, %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Zeros are a partial sum as they are.
// CHECK-LABEL: @partial_zeros
// CHECK: [[ZERO:%.*]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: stablehlo.add {{.*}}, [[ZERO]]
// CHECK-NOT: spmd.to_partial
sdy.mesh @ring = <["r"=4]>
func.func @partial_zeros(%x: tensor<8xf32>) -> tensor<2xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@ring, [{"r"}]>] out_shardings=[<@ring, [{}]>] manual_axes={"r"} (%a: tensor<2xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %2 = "spmd.to_partial"(%1) {axes = ["r"], kind = "sum"} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %a, %2 : tensor<2xf32>
    %4 = "spmd.all_reduce"(%3) {axes = ["r"], kind = "sum"} : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %4 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// What is summed need not be placed into zeros before; where a dimension stays, it does.
// CHECK-LABEL: @placed
// CHECK: [[PLACED:%.*]] = stablehlo.dynamic_update_slice
// CHECK: [[BLOCK:%.*]] = stablehlo.reduce(%block init: {{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK: [[OTHER:%.*]] = stablehlo.reduce(%other init: {{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK: stablehlo.subtract [[BLOCK]], [[OTHER]]
// CHECK: stablehlo.reduce([[PLACED]] init: {{.*}}) applies stablehlo.add across dimensions = [1]
func.func @placed(%block: tensor<2x3xf32>, %other: tensor<8x3xf32>, %at: tensor<i32>) -> (tensor<f32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x3xf32>
  %0 = stablehlo.dynamic_update_slice %zeros, %block, %at, %first : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
  %1 = stablehlo.subtract %0, %other : tensor<8x3xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.dynamic_update_slice %zeros, %block, %at, %first : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  return %2, %4 : tensor<f32>, tensor<8xf32>
}

// The total of a product is transposed where it has one use, and that of something else never.
// CHECK-LABEL: @transposed_total
// CHECK: [[P:%.*]] = stablehlo.dot_general %2, %3
// CHECK-NEXT: [[T:%.*]] = stablehlo.transpose [[P]], dims = [1, 0]
// CHECK-NEXT: [[S:%.*]] = "spmd.all_reduce"([[T]]) {axes = ["i"], kind = "sum"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: [[R:%.*]] = "spmd.all_reduce"(%4)
// CHECK-NEXT: [[U:%.*]] = stablehlo.transpose [[R]]
// CHECK-NEXT: sdy.return [[S]], [[U]]
sdy.mesh @line = <["i"=4]>
func.func @transposed_total(%g: tensor<32x2xf32>, %x: tensor<32x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0, %1 = sdy.manual_computation(%g, %x, %y) in_shardings=[<@line, [{"i"}, {}]>, <@line, [{"i"}, {}]>, <@line, [{"i"}, {}]>] out_shardings=[<@line, [{}, {}]>, <@line, [{}, {}]>] manual_axes={"i"} (%2: tensor<8x2xf32>, %3: tensor<8x4xf32>, %4: tensor<2x4xf32>) {
    %5 = stablehlo.dot_general %2, %3, contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %6 = "spmd.all_reduce"(%5) {axes = ["i"], kind = "sum"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
    %8 = "spmd.all_reduce"(%4) {axes = ["i"], kind = "sum"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = stablehlo.transpose %8, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
    sdy.return %7, %9 : tensor<4x2xf32>, tensor<4x2xf32>
  } : (tensor<32x2xf32>, tensor<32x4xf32>, tensor<8x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}

// What goes between dimensions of a product goes between those of the transposed one.
// CHECK-LABEL: @transposed_exchange
// CHECK: [[P:%.*]] = stablehlo.dot_general %1, %2
// CHECK-NEXT: [[T:%.*]] = stablehlo.transpose [[P]], dims = [1, 0, 2] : (tensor<3x4x8xf32>) -> tensor<4x3x8xf32>
// CHECK-NEXT: [[S:%.*]] = "spmd.all_to_all"([[T]]) {axes = ["i"], concat_dim = 1 : i64, split_dim = 2 : i64} : (tensor<4x3x8xf32>) -> tensor<4x12x2xf32>
// CHECK-NEXT: sdy.return [[S]]
sdy.mesh @pair = <["i"=4]>
func.func @transposed_exchange(%g: tensor<12x4x2xf32>, %x: tensor<2x8xf32>) -> tensor<4x12x8xf32> {
  %0 = sdy.manual_computation(%g, %x) in_shardings=[<@pair, [{"i"}, {}, {}]>, <@pair, [{}, {}]>] out_shardings=[<@pair, [{}, {}, {"i"}]>] manual_axes={"i"} (%1: tensor<3x4x2xf32>, %2: tensor<2x8xf32>) {
    %3 = stablehlo.dot_general %1, %2, contracting_dims = [2] x [0] : (tensor<3x4x2xf32>, tensor<2x8xf32>) -> tensor<3x4x8xf32>
    %4 = "spmd.all_to_all"(%3) {axes = ["i"], split_dim = 2, concat_dim = 0} : (tensor<3x4x8xf32>) -> tensor<12x4x2xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0, 2] : (tensor<12x4x2xf32>) -> tensor<4x12x2xf32>
    sdy.return %5 : tensor<4x12x2xf32>
  } : (tensor<12x4x2xf32>, tensor<2x8xf32>) -> tensor<4x12x8xf32>
  return %0 : tensor<4x12x8xf32>
}

// Integers over one are what they were and leave nothing, so no quotient is mended; of constants of one element, constants are computed.
// CHECK-LABEL: @floor_of_one
// CHECK-NEXT: func.return %x
func.func @floor_of_one(%x: tensor<4xi32>) -> tensor<4xi32> {
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %0 = stablehlo.divide %x, %one : tensor<4xi32>
  %1 = stablehlo.remainder %x, %one : tensor<4xi32>
  %2 = stablehlo.compare NE, %1, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %3 = stablehlo.compare LT, %x, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %4 = stablehlo.and %3, %2 : tensor<4xi1>
  %5 = stablehlo.subtract %0, %one : tensor<4xi32>
  %6 = stablehlo.select %4, %5, %0 : tensor<4xi1>, tensor<4xi32>
  return %6 : tensor<4xi32>
}

// Two that are one constant are not chosen from; a remainder of floats stays.
// CHECK-LABEL: @chosen_from_one
// CHECK: [[R:%.*]] = stablehlo.remainder %y
// CHECK-NOT: select
// CHECK: func.return
func.func @chosen_from_one(%p: tensor<4xi1>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.remainder %y, %one : tensor<4xf32>
  %1 = stablehlo.select %p, %one, %one : tensor<4xi1>, tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Two calls of one function of the language that do the same are one, and so are those that use them; one that takes another value stays.
// CHECK-LABEL: @equal_groups
// CHECK-NEXT: [[A:%.*]] = stablehlo.exponential %x
// CHECK-NEXT: [[B:%.*]] = stablehlo.tanh [[A]]
// CHECK-NEXT: [[C:%.*]] = stablehlo.exponential %y
// CHECK-NEXT: [[D:%.*]] = stablehlo.tanh [[C]]
// CHECK-NEXT: [[E:%.*]] = stablehlo.negate [[B]]
// CHECK-NEXT: func.return [[B]], [[B]], [[D]], [[E]], [[E]]
func.func @equal_groups(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.exponential %x {shardc.group = "f#1/2"} : tensor<4xf32>
  %1 = stablehlo.tanh %0 {shardc.group = "f#1/2"} : tensor<4xf32>
  %2 = stablehlo.exponential %x {shardc.group = "f#2/2"} : tensor<4xf32>
  %3 = stablehlo.tanh %2 {shardc.group = "f#2/2"} : tensor<4xf32>
  %4 = stablehlo.exponential %y {shardc.group = "f#3/2"} : tensor<4xf32>
  %5 = stablehlo.tanh %4 {shardc.group = "f#3/2"} : tensor<4xf32>
  %6 = stablehlo.negate %1 {shardc.group = "g#4/1"} : tensor<4xf32>
  %7 = stablehlo.negate %3 {shardc.group = "g#5/1"} : tensor<4xf32>
  return %1, %3, %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// All of one truth is that truth; what is gathered at a place that is known is a slice, at the end where the place is beyond it.
// CHECK-LABEL: @known_place
// CHECK-NEXT: [[S:%.*]] = stablehlo.slice %x [0:4, 7:8]
// CHECK-NEXT: [[R:%.*]] = stablehlo.reshape [[S]]
// CHECK-NEXT: func.return [[R]]
func.func @known_place(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %place = stablehlo.constant dense<9> : tensor<1xi32>
  %least = stablehlo.constant dense<0> : tensor<1xi32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %0 = stablehlo.compare GE, %place, %least, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  %1 = stablehlo.reduce(%0 init: %true) applies stablehlo.and across dimensions = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<i1>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<4xi1>
  %3 = "stablehlo.gather"(%x, %place) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = false, slice_sizes = array<i64: 4, 1>}> : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<4xf32>
  %4 = stablehlo.select %2, %3, %nan : tensor<4xi1>, tensor<4xf32>
  return %4 : tensor<4xf32>
}

// What moves one number is that number; zeros and ones joined, or zeros with different signs, are not one.
// CHECK-LABEL: @moved
// CHECK: [[Z:%.*]] = stablehlo.constant dense<0.{{0*}}e+00> : tensor<6xf32>
// CHECK-NEXT: [[J:%.*]] = stablehlo.concatenate %zeros, %ones
// CHECK-NEXT: [[K:%.*]] = stablehlo.concatenate %zeros, %negative
// CHECK-NEXT: [[O:%.*]] = stablehlo.constant dense<1.{{0*}}e+00> : tensor<2x2xf32>
// CHECK-NEXT: func.return [[Z]], [[J]], [[K]], [[O]]
func.func @moved(%i: tensor<i32>) -> (tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<4xf32>
  %negative = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %0 = stablehlo.slice %zeros [1:4] : (tensor<4xf32>) -> tensor<3xf32>
  %1 = stablehlo.dynamic_slice %zeros, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = stablehlo.dynamic_update_slice %2, %1, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
  %4 = stablehlo.pad %3, %zero, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %5 = stablehlo.concatenate %zeros, %ones, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %6 = stablehlo.concatenate %zeros, %negative, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %7 = stablehlo.reshape %ones : (tensor<4xf32>) -> tensor<2x2xf32>
  return %4, %5, %6, %7 : tensor<6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}

// Of an integer and two numbers there is one number; what is used elsewhere stays, and so do floats.
// CHECK-LABEL: @sums
// CHECK: [[SIX:%.*]] = stablehlo.constant dense<6> : tensor<i32>
// CHECK: [[A:%.*]] = stablehlo.subtract [[SIX]], %i
// CHECK: [[TWO:%.*]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK: [[B:%.*]] = stablehlo.subtract %i, [[TWO]]
// CHECK: [[C:%.*]] = stablehlo.subtract %three, %i
// CHECK: [[C1:%.*]] = stablehlo.add [[C]], %one
// CHECK: [[D:%.*]] = stablehlo.multiply [[C]], [[C1]]
// CHECK: [[X:%.*]] = stablehlo.add %x, %half
// CHECK: [[Y:%.*]] = stablehlo.add [[X]], %half
// CHECK: func.return [[A]], [[B]], %i, [[D]], [[Y]]
func.func @sums(%i: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.subtract %seven, %i : tensor<i32>
  %1 = stablehlo.subtract %0, %one : tensor<i32>
  %2 = stablehlo.add %one, %i : tensor<i32>
  %3 = stablehlo.subtract %2, %three : tensor<i32>
  %4 = stablehlo.subtract %i, %three : tensor<i32>
  %5 = stablehlo.add %4, %three : tensor<i32>
  %6 = stablehlo.subtract %three, %i : tensor<i32>
  %66 = stablehlo.add %6, %one : tensor<i32>
  %7 = stablehlo.multiply %6, %66 : tensor<i32>
  %8 = stablehlo.add %x, %half : tensor<f32>
  %9 = stablehlo.add %8, %half : tensor<f32>
  return %1, %3, %5, %7, %9 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>
}

// Equal calls and loops are one; what draws numbers is not, nor what is called with others.
// CHECK-LABEL: @equal_bodies
// CHECK: [[ONE:%.*]] = func.call @layer(%x, %y)
// CHECK-NEXT: [[OTHER:%.*]] = func.call @layer(%y, %x)
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.while
// CHECK: [[A:%.*]] = func.call @drawn(%x)
// CHECK-NEXT: [[B:%.*]] = func.call @drawn(%x)
// CHECK: return [[ONE]], [[ONE]], [[OTHER]], [[LOOP:%.*]], [[LOOP]], [[A]], [[B]]
func.func @equal_bodies(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @layer(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @layer(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @layer(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.while(%iterArg = %x) : tensor<4xf32>
  cond {
    %p = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %iterArg, %y : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }
  %4 = stablehlo.while(%iterArg = %x) : tensor<4xf32>
  cond {
    %p = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %iterArg, %y : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }
  %5 = func.call @drawn(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = func.call @drawn(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @layer(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4xf32>
  %1 = stablehlo.subtract %0, %y : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @drawn(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %shape = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// What has no elements is not joined, and padded it is the padding.
// CHECK-LABEL: @no_elements
// CHECK-NEXT: [[BOTH:%.*]] = stablehlo.concatenate %x, %x, dim = 0
// CHECK-NEXT: [[TWICE:%.*]] = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT: func.return %x, [[BOTH]], [[TWICE]]
func.func @no_elements(%x: tensor<4xf32>, %none: tensor<0xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.concatenate %x, %none, dim = 0 : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  %1 = stablehlo.concatenate %none, %x, %none, %x, dim = 0 : (tensor<0xf32>, tensor<4xf32>, tensor<0xf32>, tensor<4xf32>) -> tensor<8xf32>
  %2 = stablehlo.pad %none, %two, low = [2], high = [6], interior = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8xf32>, tensor<8xf32>
}

// A product with ones repeats the other side, in the order batch, left, right; sums stay.
// CHECK-LABEL: @ones
// CHECK: [[LEFT:%.*]] = stablehlo.broadcast_in_dim %x, dims = [1, 0]
// CHECK: [[RIGHT:%.*]] = stablehlo.broadcast_in_dim %x, dims = [2, 0]
// CHECK: [[SUM:%.*]] = stablehlo.dot_general
// CHECK-NEXT: func.return [[LEFT]], [[RIGHT]], [[SUM]]
func.func @ones(%x: tensor<3x2xf32>) -> (tensor<2x3x4xf32>, tensor<2x4x3xf32>, tensor<4x3xf32>) {
  %ones = stablehlo.constant dense<1.0> : tensor<4x2xf32>
  %0 = stablehlo.dot_general %x, %ones, batching_dims = [1] x [1], contracting_dims = [] x [] : (tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.dot_general %ones, %x, batching_dims = [1] x [1], contracting_dims = [] x [] : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<2x4x3xf32>
  %2 = stablehlo.dot_general %ones, %x, contracting_dims = [1] x [1] : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  return %0, %1, %2 : tensor<2x3x4xf32>, tensor<2x4x3xf32>, tensor<4x3xf32>
}

// What a function returns twice it returns once, and what every call gives twice is one parameter, unless
// both have names. Equal calls of LAPACK are one, if they do nothing else.
// CHECK-LABEL: @equal_results
// CHECK: [[F:%[0-9]+]], [[G:%[0-9]+]] = func.call @twice(%x, %x, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: [[L:%.*]] = stablehlo.custom_call @lapack
// CHECK-NEXT: stablehlo.custom_call @said
// CHECK-NEXT: stablehlo.custom_call @said
// CHECK-NEXT: func.return [[F]], [[G]], [[F]], [[L]], [[L]]
// CHECK: func.func private @twice(%a: tensor<4xf32>, %b: tensor<4xf32>, %arg2: tensor<4xf32>) ->
func.func @equal_results(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = func.call @twice(%x, %x, %y, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = stablehlo.custom_call @lapack(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @lapack(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @said(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @said(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %0#0, %0#1, %0#2, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @twice(%a: tensor<4xf32>, %b: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %a, %arg2 : tensor<4xf32>
  %1 = stablehlo.subtract %b, %arg3 : tensor<4xf32>
  return %0, %1, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A condition as numbers that are compared so that one alone is true is the condition, and so is what is not
// so twice. In the total order 0 is above -0.0.
// CHECK-LABEL: @conditions
// CHECK: [[ORDER:%.*]] = stablehlo.compare GT, {{%.*}}, {{%.*}}, TOTALORDER
// CHECK-NEXT: [[OTHER:%.*]] = stablehlo.compare EQ
// CHECK-NEXT: func.return %p, %p, %p, %p, [[ORDER]], [[OTHER]]
func.func @conditions(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %nothing = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %i = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xi32>
  %f = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %0 = stablehlo.compare NE, %i, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = stablehlo.compare GT, %f, %half, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.compare LE, %half, %f, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = stablehlo.not %p : tensor<4xi1>
  %4 = stablehlo.not %3 : tensor<4xi1>
  %5 = stablehlo.compare GT, %f, %nothing, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %6 = stablehlo.compare EQ, %i, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0, %1, %2, %4, %5, %6 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// What is chosen between one value and itself is the value, also where it is one only once equal operations are.
// CHECK-LABEL: @either_way
// CHECK-NEXT: [[T:%.*]] = stablehlo.tanh %x
// CHECK-NEXT: func.return %x, [[T]]
func.func @either_way(%p: tensor<4xi1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  %1 = stablehlo.tanh %x : tensor<4xf32>
  %2 = stablehlo.tanh %0 : tensor<4xf32>
  %3 = stablehlo.select %p, %1, %2 : tensor<4xi1>, tensor<4xf32>
  return %0, %3 : tensor<4xf32>, tensor<4xf32>
}

// A dynamic slice of everything begins at zero wherever it is to, and so does what is written over everything.
// CHECK-LABEL: @whole_dynamic
// CHECK-NEXT: func.return %x, %y
func.func @whole_dynamic(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>, %i: tensor<i32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %1 = stablehlo.dynamic_update_slice %x, %y, %i, %i : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  return %0, %1 : tensor<1x4xf32>, tensor<1x4xf32>
}

// Windows of one element are the elements where they lie; elsewhere they are others.
// CHECK-LABEL: @windows_of_one
// CHECK: [[SHIFTED:%.*]] = "stablehlo.reduce_window"(%y
// CHECK: func.return %x, [[SHIFTED]], %y
func.func @windows_of_one(%x: tensor<1x4xi32>, %y: tensor<4xf32>) -> (tensor<1x4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %1 = "stablehlo.reduce_window"(%y, %low) <{window_dimensions = array<i64: 1>, padding = dense<[[-1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = "stablehlo.reduce_window"(%y, %low) <{window_dimensions = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<1x4xi32>, tensor<4xf32>, tensor<4xf32>
}

// A truth value or itself, true or anything, and false.
// CHECK-LABEL: @truths
// CHECK: [[FALSE:%.*]] = stablehlo.constant dense<false>
// CHECK: [[TRUE:%.*]] = stablehlo.constant dense<true>
// CHECK: [[ONES:%.*]] = stablehlo.constant dense<-1>
// CHECK: [[OR:%.*]] = stablehlo.or %i, {{%.*}} : tensor<4xi32>
// CHECK-NEXT: func.return %p, [[TRUE]], [[FALSE]], [[ONES]], [[OR]]
func.func @truths(%p: tensor<4xi1>, %i: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) {
  %false = stablehlo.constant dense<false> : tensor<4xi1>
  %true = stablehlo.constant dense<true> : tensor<4xi1>
  %ones = stablehlo.constant dense<-1> : tensor<4xi32>
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %0 = stablehlo.or %p, %false : tensor<4xi1>
  %1 = stablehlo.or %true, %p : tensor<4xi1>
  %2 = stablehlo.and %p, %false : tensor<4xi1>
  %3 = stablehlo.or %i, %ones : tensor<4xi32>
  %4 = stablehlo.or %i, %one : tensor<4xi32>
  return %0, %1, %2, %3, %4 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi32>, tensor<4xi32>
}

// Constants decide, rounded or not, unless one is so small that a processor may have 0 for it. The rounded
// number itself stays as it is said.
// CHECK-LABEL: @decided
// CHECK: [[PRODUCT:%.*]] = stablehlo.multiply {{%.*}}, {{%.*}} : tensor<4xf32>
// CHECK: [[TRUE:%.*]] = stablehlo.constant dense<true> : tensor<4xi1>
// CHECK: [[TWO:%.*]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK: [[SMALL:%.*]] = stablehlo.compare LT
// CHECK-NEXT: func.return [[TRUE]], [[PRODUCT]], [[TWO]], [[SMALL]]
func.func @decided() -> (tensor<4xi1>, tensor<4xf32>, tensor<i32>, tensor<i1>) {
  %ten = stablehlo.constant dense<1.0e1> : tensor<4xf32>
  %some = stablehlo.constant dense<0.3> : tensor<4xf32>
  %least = stablehlo.constant dense<1.0e-38> : tensor<f32>
  %half = stablehlo.constant dense<2.5> : tensor<f32>
  %0 = stablehlo.multiply %ten, %some : tensor<4xf32>
  %1 = stablehlo.compare LE, %0, %ten : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.floor %half : tensor<f32>
  %3 = stablehlo.convert %2 : (tensor<f32>) -> tensor<i32>
  %4 = stablehlo.multiply %least, %half : tensor<f32>
  %5 = stablehlo.divide %least, %half : tensor<f32>
  %6 = stablehlo.compare LT, %5, %4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %1, %0, %3, %6 : tensor<4xi1>, tensor<4xf32>, tensor<i32>, tensor<i1>
}

// The least of one constant on all devices is that; the sum of ones is how many they are.
// CHECK-LABEL: @sent_constants
// CHECK: [[TRUE:%.*]] = stablehlo.constant dense<true>
// CHECK: [[SUM:%.*]] = "spmd.all_reduce"({{%.*}}) {axes = ["x"], kind = "sum"} : (tensor<4xf32>)
// CHECK-NEXT: sdy.return [[TRUE]], [[SUM]]
sdy.mesh @cross = <["x"=4]>
func.func @sent_constants() -> (tensor<i1>, tensor<4xf32>) {
  %0, %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@cross, []>, <@cross, [{}]>] manual_axes={"x"} () {
    %true = stablehlo.constant dense<true> : tensor<i1>
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %2 = "spmd.all_reduce"(%true) {axes = ["x"], kind = "min"} : (tensor<i1>) -> tensor<i1>
    %3 = "spmd.all_reduce"(%one) {axes = ["x"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %2, %3 : tensor<i1>, tensor<4xf32>
  } : () -> (tensor<i1>, tensor<4xf32>)
  return %0, %1 : tensor<i1>, tensor<4xf32>
}
