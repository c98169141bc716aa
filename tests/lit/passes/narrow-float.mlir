// Floats of eight bits are said to be what is in the way.
// RUN: not shardc %s 2>&1 | filecheck %s
// CHECK:      narrow-float.mlir:7:17: error: a value is of type f8E4M3FN, of which per-device code has none
// CHECK:      note: convert to one of f64, f32, bf16, f16, i64
sdy.mesh @m = <["x"=2]>

func.func @main(%a: tensor<8x16xf8E4M3FN> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x16xf8E4M3FN> {
  %0 = stablehlo.add %a, %a : tensor<8x16xf8E4M3FN>
  return %0 : tensor<8x16xf8E4M3FN>
}
