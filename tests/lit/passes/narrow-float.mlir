// Floats of four bits are said to be what is in the way.
// RUN: not shardc %s 2>&1 | filecheck %s
// CHECK:      narrow-float.mlir:7:17: error: a value is of type f4E2M1FN, of which per-device code has none
// CHECK:      note: convert to one of f64, f32, bf16, f16, f8e4m3fn
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8x16xf4E2M1FN> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x16xf4E2M1FN> {
  %0 = stablehlo.add %a, %a : tensor<8x16xf4E2M1FN>
  return %0 : tensor<8x16xf4E2M1FN>
}
