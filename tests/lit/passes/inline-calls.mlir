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

// -----

// A choice by a constant is its branch: of several, the last where the index is beyond them.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.case
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.negate
// CHECK: [[Y:%.*]] = stablehlo.cosine
// CHECK: "stablehlo.case"(%n)
// CHECK: func.return [[Y]]
func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %0 = "stablehlo.if"(%true) ({
    %1 = stablehlo.sine %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %2 = "stablehlo.case"(%nine) ({
    %1 = stablehlo.negate %0 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = func.call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %3 = "stablehlo.case"(%n) ({
    stablehlo.return %nine : tensor<i32>
  }, {
    stablehlo.return %n : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %2, %3 : tensor<8xf32>, tensor<i32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.cosine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// So is one by what is computed of constants, here whether any of three numbers is another one. Where a sum
// over them would count them, data are asked, or a float that is any number, it is not.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: stablehlo.negate
// CHECK: [[Y:%.*]] = stablehlo.sine
// CHECK: "stablehlo.case"
// CHECK: "stablehlo.if"
// CHECK: "stablehlo.if"
// CHECK: func.return [[Y]]
func.func @computed(%x: tensor<8xf32>, %p: tensor<3xi1>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %more = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %alike = stablehlo.compare EQ, %one, %more, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %any = stablehlo.reduce(%alike init: %false) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
  %index = stablehlo.convert %any : (tensor<i1>) -> tensor<i32>
  %0 = "stablehlo.case"(%index) ({
    %1 = stablehlo.sine %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %ones = stablehlo.constant dense<1> : tensor<3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %2 = "stablehlo.case"(%three) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %some = stablehlo.reduce(%p init: %false) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
  %3 = "stablehlo.if"(%some) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %few = stablehlo.constant dense<0.5> : tensor<f32>
  %many = stablehlo.constant dense<2.5> : tensor<f32>
  %less = stablehlo.compare LT, %few, %many, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %4 = "stablehlo.if"(%less) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop of one turn is its body, also where a loop is in it, and one of no turn is what it begins with. What data
// end, what takes more turns and what says how it is split stay loops.
// CHECK-LABEL: func.func @turns
// CHECK:      [[H:%.*]] = stablehlo.tanh %x
// CHECK-NEXT: [[I:%.*]] = stablehlo.add %zero, {{%.*}}
// CHECK-NEXT: [[G:%.*]] = stablehlo.negate [[H]]
// CHECK:      , [[TWO:%.*]] = stablehlo.while
// CHECK:      , [[DATA:%.*]] = stablehlo.while
// CHECK:      , [[SPLIT:%.*]] = stablehlo.while
// CHECK-NOT:  stablehlo.while
// CHECK:      func.return [[G]], %x, [[TWO]], [[DATA]], [[SPLIT]]
sdy.mesh @m = <["x"=2]>
func.func @turns(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h_1 = func.call @layer(%h) : (tensor<8xf32>) -> tensor<8xf32>
    %i_1 = stablehlo.add %i, %one : tensor<i32>
    %1:2 = stablehlo.while(%j = %one, %g = %h_1) : tensor<i32>, tensor<8xf32>
    cond {
      %more = stablehlo.compare NE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %g_1 = stablehlo.negate %g : tensor<8xf32>
      %j_1 = stablehlo.subtract %j, %i_1 : tensor<i32>
      stablehlo.return %j_1, %g_1 : tensor<i32>, tensor<8xf32>
    }
    stablehlo.return %i_1, %1#1 : tensor<i32>, tensor<8xf32>
  }
  %2:2 = stablehlo.while(%i = %two, %h = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h_1 = func.call @layer(%h) : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %i, %h_1 : tensor<i32>, tensor<8xf32>
  }
  %3:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h_1 = stablehlo.sine %h : tensor<8xf32>
    %i_1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i_1, %h_1 : tensor<i32>, tensor<8xf32>
  }
  %4:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h_1 = stablehlo.sine %h : tensor<8xf32>
    %i_1 = stablehlo.add %i, %n : tensor<i32>
    stablehlo.return %i_1, %h_1 : tensor<i32>, tensor<8xf32>
  }
  %5:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@m, []>, <@m, [{"x"}]>]>}
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %h_1 = stablehlo.sine %h : tensor<8xf32>
    %i_1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i_1, %h_1 : tensor<i32>, tensor<8xf32>
  }
  return %0#1, %2#1, %3#1, %4#1, %5#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @layer(%h: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %h : tensor<8xf32>
  return %0 : tensor<8xf32>
}
