// RUN: shardc-opt %s -p 'fold-layers{worth=8}' --no-locations | filecheck %s
// RUN: shardc-opt %s -p 'fold-layers{worth=8 functions=false}' --no-locations | filecheck %s --check-prefix NONE
// RUN: shardc-opt %s -p 'fold-layers{worth=8},propagate,insert-reshards,reshards-to-collectives,localize,outline-repeats{least=3},unfold-layers' --no-locations | filecheck %s --check-prefix WHOLE

// One of the layers that go has an operation more. It goes all the same.
// CHECK: module attributes {shardc.folded = {{.*}}removed = 2{{.*}}part = "{{.*}}stablehlo.multiply
// CHECK: func.func @main(%x: {{[^%]*}}, %w0: {{[^%]*}}, %w1: {{[^%]*}}, %w2: {{[^%]*}}, %w3: {{[^%]*}}, %w6: {{[^%]*}}, %w7: {{[^%]*}}, %w8:
// CHECK-NOT: stablehlo.multiply

// It has it back on per-device code, where its call became what it runs.
// WHOLE-NOT: shardc.
// WHOLE: [[THREE:%.*]] = func.call @layer({{.*}}, %w3_1)
// WHOLE-NEXT: [[FOUR:%.*]] = stablehlo.dot_general [[THREE]], %w4_1
// WHOLE-NEXT: [[TANH:%.*]] = stablehlo.tanh [[FOUR]]
// WHOLE-NEXT: [[MORE:%.*]] = stablehlo.multiply [[TANH]], [[FOUR]]
// WHOLE-NEXT: stablehlo.sine [[MORE]]
// WHOLE-NEXT: stablehlo.cosine
// WHOLE-NEXT: stablehlo.negate
// WHOLE-NEXT: stablehlo.logistic
// WHOLE-NEXT: stablehlo.exponential
// WHOLE-NEXT: [[LAST:%.*]] = stablehlo.abs
// WHOLE-NEXT: func.call @layer([[LAST]], %w5_1)

// Not so where layers may not differ in what they do.
// NONE-NOT: shardc.folded
// NONE: %w4
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}, %w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %w3: tensor<8x8xf32>, %w4: tensor<8x8xf32>, %w5: tensor<8x8xf32>, %w6: tensor<8x8xf32>, %w7: tensor<8x8xf32>, %w8: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.tanh %0 : tensor<8x8xf32>
  %2 = stablehlo.sine %1 : tensor<8x8xf32>
  %3 = stablehlo.cosine %2 : tensor<8x8xf32>
  %4 = stablehlo.negate %3 : tensor<8x8xf32>
  %5 = stablehlo.logistic %4 : tensor<8x8xf32>
  %6 = stablehlo.exponential %5 : tensor<8x8xf32>
  %7 = stablehlo.abs %6 : tensor<8x8xf32>
  %8 = stablehlo.dot_general %7, %w1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %9 = stablehlo.tanh %8 : tensor<8x8xf32>
  %10 = stablehlo.sine %9 : tensor<8x8xf32>
  %11 = stablehlo.cosine %10 : tensor<8x8xf32>
  %12 = stablehlo.negate %11 : tensor<8x8xf32>
  %13 = stablehlo.logistic %12 : tensor<8x8xf32>
  %14 = stablehlo.exponential %13 : tensor<8x8xf32>
  %15 = stablehlo.abs %14 : tensor<8x8xf32>
  %16 = stablehlo.dot_general %15, %w2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %17 = stablehlo.tanh %16 : tensor<8x8xf32>
  %18 = stablehlo.sine %17 : tensor<8x8xf32>
  %19 = stablehlo.cosine %18 : tensor<8x8xf32>
  %20 = stablehlo.negate %19 : tensor<8x8xf32>
  %21 = stablehlo.logistic %20 : tensor<8x8xf32>
  %22 = stablehlo.exponential %21 : tensor<8x8xf32>
  %23 = stablehlo.abs %22 : tensor<8x8xf32>
  %24 = stablehlo.dot_general %23, %w3, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %25 = stablehlo.tanh %24 : tensor<8x8xf32>
  %26 = stablehlo.sine %25 : tensor<8x8xf32>
  %27 = stablehlo.cosine %26 : tensor<8x8xf32>
  %28 = stablehlo.negate %27 : tensor<8x8xf32>
  %29 = stablehlo.logistic %28 : tensor<8x8xf32>
  %30 = stablehlo.exponential %29 : tensor<8x8xf32>
  %31 = stablehlo.abs %30 : tensor<8x8xf32>
  %32 = stablehlo.dot_general %31, %w4, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = stablehlo.tanh %32 : tensor<8x8xf32>
  %33 = stablehlo.multiply %s, %32 : tensor<8x8xf32>
  %34 = stablehlo.sine %33 : tensor<8x8xf32>
  %35 = stablehlo.cosine %34 : tensor<8x8xf32>
  %36 = stablehlo.negate %35 : tensor<8x8xf32>
  %37 = stablehlo.logistic %36 : tensor<8x8xf32>
  %38 = stablehlo.exponential %37 : tensor<8x8xf32>
  %39 = stablehlo.abs %38 : tensor<8x8xf32>
  %40 = stablehlo.dot_general %39, %w5, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %41 = stablehlo.tanh %40 : tensor<8x8xf32>
  %42 = stablehlo.sine %41 : tensor<8x8xf32>
  %43 = stablehlo.cosine %42 : tensor<8x8xf32>
  %44 = stablehlo.negate %43 : tensor<8x8xf32>
  %45 = stablehlo.logistic %44 : tensor<8x8xf32>
  %46 = stablehlo.exponential %45 : tensor<8x8xf32>
  %47 = stablehlo.abs %46 : tensor<8x8xf32>
  %48 = stablehlo.dot_general %47, %w6, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %49 = stablehlo.tanh %48 : tensor<8x8xf32>
  %50 = stablehlo.sine %49 : tensor<8x8xf32>
  %51 = stablehlo.cosine %50 : tensor<8x8xf32>
  %52 = stablehlo.negate %51 : tensor<8x8xf32>
  %53 = stablehlo.logistic %52 : tensor<8x8xf32>
  %54 = stablehlo.exponential %53 : tensor<8x8xf32>
  %55 = stablehlo.abs %54 : tensor<8x8xf32>
  %56 = stablehlo.dot_general %55, %w7, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %57 = stablehlo.tanh %56 : tensor<8x8xf32>
  %58 = stablehlo.sine %57 : tensor<8x8xf32>
  %59 = stablehlo.cosine %58 : tensor<8x8xf32>
  %60 = stablehlo.negate %59 : tensor<8x8xf32>
  %61 = stablehlo.logistic %60 : tensor<8x8xf32>
  %62 = stablehlo.exponential %61 : tensor<8x8xf32>
  %63 = stablehlo.abs %62 : tensor<8x8xf32>
  %64 = stablehlo.dot_general %63, %w8, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %65 = stablehlo.tanh %64 : tensor<8x8xf32>
  %66 = stablehlo.sine %65 : tensor<8x8xf32>
  %67 = stablehlo.cosine %66 : tensor<8x8xf32>
  %68 = stablehlo.negate %67 : tensor<8x8xf32>
  %69 = stablehlo.logistic %68 : tensor<8x8xf32>
  %70 = stablehlo.exponential %69 : tensor<8x8xf32>
  %71 = stablehlo.abs %70 : tensor<8x8xf32>
  return %71 : tensor<8x8xf32>
}
