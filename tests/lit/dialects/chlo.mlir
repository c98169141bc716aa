// RUN: shardc-opt %s | filecheck %s
// RUN: shardc-opt %s --print-op-generic | shardc-opt | filecheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x4xf32>, %n: tensor<8xui32>) {
  // CHECK: chlo.erf %x : tensor<8x4xf32> -> tensor<8x4xf32>
  %0 = chlo.erf %x : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: chlo.zeta %x, %x : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = chlo.zeta %x, %x : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: chlo.mulhi %n, %n : tensor<8xui32>, tensor<8xui32> -> tensor<8xui32>
  %3 = chlo.mulhi %n, %n : tensor<8xui32>, tensor<8xui32> -> tensor<8xui32>
  // CHECK: chlo.is_inf %x : tensor<8x4xf32> -> tensor<8x4xi1>
  %2 = chlo.is_inf %x : tensor<8x4xf32> -> tensor<8x4xi1>
  // CHECK: chlo.top_k(%x, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
  return
}
