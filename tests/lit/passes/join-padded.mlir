// RUN: shardc-opt %s -p join-padded --no-locations --split-input-file | filecheck %s

// The derivative of a roll. -0.0 + 0.0 is 0.0, so zeros are added once.
// CHECK-LABEL: @roll
// CHECK: [[FIRST:%.*]] = stablehlo.slice %x [0:1]
// CHECK-NEXT: [[REST:%.*]] = stablehlo.slice %x [1:8]
// CHECK-NEXT: [[JOINED:%.*]] = stablehlo.concatenate [[REST]], [[FIRST]], dim = 0 {{.*}}sdy.sharding{{.*}} -> tensor<8xf32>
// CHECK-NEXT: [[ZEROS:%.*]] = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: [[SUM:%.*]] = stablehlo.add [[JOINED]], [[ZEROS]] {{.*}}sdy.sharding
// CHECK-NEXT: return [[SUM]]
sdy.mesh @ring = <["r"=4]>
func.func @roll(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %1 = stablehlo.pad %0, %zero, low = [7], high = [0], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.slice %x [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %3 = stablehlo.pad %2, %zero, low = [0], high = [1], interior = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.add %1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@ring, [{"r"}]>]>} : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// -----

// Three parts, added one after the other, in any order; integers have one zero.
// CHECK-LABEL: @three
// CHECK: [[JOINED:%.*]] = stablehlo.concatenate %a, %b, %c, dim = 1
// CHECK-NEXT: return [[JOINED]]
func.func @three(%a: tensor<2x1xi32>, %b: tensor<2x2xi32>, %c: tensor<2x3xi32>) -> tensor<2x6xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %c, %zero, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x6xi32>
  %1 = stablehlo.pad %a, %zero, low = [0, 0], high = [0, 5], interior = [0, 0] : (tensor<2x1xi32>, tensor<i32>) -> tensor<2x6xi32>
  %2 = stablehlo.pad %b, %zero, low = [0, 1], high = [0, 3], interior = [0, 0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x6xi32>
  %3 = stablehlo.add %0, %1 : tensor<2x6xi32>
  %4 = stablehlo.add %2, %3 : tensor<2x6xi32>
  return %4 : tensor<2x6xi32>
}

// -----

// A gap, an overlap, ones for zeros, and a padded tensor that others use, stay.
// CHECK-LABEL: @others
// CHECK-NOT: concatenate
// CHECK: return
func.func @others(%a: tensor<3xf32>, %b: tensor<5xf32>) -> (tensor<9xf32>, tensor<7xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [0], high = [6], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.pad %b, %zero, low = [4], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  %2 = stablehlo.add %0, %1 : tensor<9xf32>
  %3 = stablehlo.pad %a, %zero, low = [0], high = [4], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %4 = stablehlo.pad %b, %zero, low = [2], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<7xf32>
  %5 = stablehlo.add %3, %4 : tensor<7xf32>
  %6 = stablehlo.pad %a, %one, low = [0], high = [5], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = stablehlo.pad %b, %zero, low = [3], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  %8 = stablehlo.add %6, %7 : tensor<8xf32>
  %9 = stablehlo.pad %a, %zero, low = [0], high = [5], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %10 = stablehlo.pad %b, %zero, low = [3], high = [0], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  %11 = stablehlo.add %9, %10 : tensor<8xf32>
  return %2, %5, %8, %10, %11 : tensor<9xf32>, tensor<7xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Complex numbers have a sign of zero in either part.
// CHECK-LABEL: @complex
// CHECK: [[JOINED:%.*]] = stablehlo.concatenate %a, %b, dim = 0
// CHECK: stablehlo.add [[JOINED]],
// CHECK: stablehlo.pad
// CHECK: stablehlo.pad
func.func @complex(%a: tensor<3xcomplex<f32>>, %b: tensor<5xcomplex<f32>>) -> (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %negative = stablehlo.constant dense<(0.0, -0.0)> : tensor<complex<f32>>
  %0 = stablehlo.pad %a, %zero, low = [0], high = [5], interior = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
  %1 = stablehlo.pad %b, %zero, low = [3], high = [0], interior = [0] : (tensor<5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
  %2 = stablehlo.add %0, %1 : tensor<8xcomplex<f32>>
  %3 = stablehlo.pad %a, %negative, low = [0], high = [5], interior = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
  %4 = stablehlo.pad %b, %negative, low = [3], high = [0], interior = [0] : (tensor<5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
  %5 = stablehlo.add %3, %4 : tensor<8xcomplex<f32>>
  return %2, %5 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>
}
