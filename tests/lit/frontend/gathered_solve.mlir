// RUN: shardc %s 2>&1 | filecheck %s

// A routine of LAPACK is called what it computes, in comments and warnings.
// CHECK: needed as [-, -] by
// CHECK-NEXT: triangular_solve
// CHECK: gathered_solve.mlir:{{[0-9]+}}:3: warning: triangular_solve cannot run on blocks of dimension 0 of b
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %b: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<4x2xf32> {
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
