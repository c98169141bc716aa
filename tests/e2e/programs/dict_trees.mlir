module @jit_step {
  sdy.mesh @mesh = <["d"=4]>
  func.func public @main(%b: tensor<8xf32> loc("p['b']"), %w: tensor<4x8xf32> loc("p['layers'][0]['w']"), %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>} loc("x")) -> (tensor<8x8xf32> {jax.result_info = "result[0]['h']"}, tensor<8xf32> {jax.result_info = "result[0]['p']['b']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %2, %4, %3 : tensor<8x8xf32>, tensor<8xf32>, tensor<f32>
  }
}
