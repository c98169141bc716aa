// How numbers print.
// RUN: -split-input-file -sdy-basic-propagate=keep-sharding-rules=true
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"b"}]>}) -> tensor<8x8xf32> {
  %1 = sdy.reshard %x <@m, [{"a", ?}, {?}]> : tensor<8x8xf32>
  %2 = stablehlo.add %1, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// -----
func.func @more_consts() -> (tensor<6xf32>, tensor<5xf64>, tensor<5xbf16>, tensor<5xf16>, tensor<f32>, tensor<3xf32>, tensor<1xf32>, tensor<f32>,tensor<2x1xf32>) attributes {x = [1.5, 2 : i8, {a = 1, b = 2.5, c = [3]}], y = 1.0, z = [[1], -0.0, 3.3333333333333]} {
  %0 = stablehlo.constant dense<[0.1, 1.2345678e-7, 3.14159265, 1.0e10, 123456789.0, 1.25]> : tensor<6xf32>
  %1 = stablehlo.constant dense<[0.1, 1.2345678e-7, 3.14159265, 1.0e100, 123456789.125]> : tensor<5xf64>
  %2 = stablehlo.constant dense<[0.1, 1.2345678e-7, 3.14159265, 1.0e10, 123456789.0]> : tensor<5xbf16>
  %3 = stablehlo.constant dense<[0.1, 1.2345678e-7, 3.14159265, 1.0e4, 1234.0]> : tensor<5xf16>
  %4 = stablehlo.constant dense<3.3333333> : tensor<f32>
  %5 = stablehlo.constant dense<[-0.0, 0.0, 0xFF800000]> : tensor<3xf32>
  %6 = stablehlo.constant dense<[1.1e-38]> : tensor<1xf32>
  %7 = stablehlo.constant dense<3.40282347e+38> : tensor<f32>
  %8 = stablehlo.constant dense<[[2.5],[2.5]]> : tensor<2x1xf32>
  return %0,%1,%2,%3,%4,%5,%6,%7,%8 : tensor<6xf32>, tensor<5xf64>, tensor<5xbf16>, tensor<5xf16>, tensor<f32>, tensor<3xf32>, tensor<1xf32>, tensor<f32>, tensor<2x1xf32>
}
// -----
func.func @ints() -> (tensor<3xui8>, tensor<2x2xi32>, tensor<2xi64>, tensor<f8E4M3FN>, tensor<4xi1>, tensor<2xf8E5M2>) {
  %0 = stablehlo.constant dense<[255, 0, 1]> : tensor<3xui8>
  %1 = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %2 = stablehlo.constant dense<5> : tensor<2xi64>
  %3 = stablehlo.constant dense<1.0> : tensor<f8E4M3FN>
  %4 = stablehlo.constant dense<false> : tensor<4xi1>
  %5 = stablehlo.constant dense<[1.5, 0.3]> : tensor<2xf8E5M2>
  return %0,%1,%2,%3,%4,%5 : tensor<3xui8>, tensor<2x2xi32>, tensor<2xi64>, tensor<f8E4M3FN>, tensor<4xi1>, tensor<2xf8E5M2>
}
