builtin.module {
  sdy.mesh @pod = <["data"=2, "model"=4]>
  func.func public @mlp(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}, %w1: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {"model"}]>}, %w2: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"model"}, {}]>}) -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) {
    %0 = sdy.manual_computation(%x, %w1, %w2) in_shardings=[<@pod, [{"data"}, {}]>, <@pod, [{}, {"model"}]>, <@pod, [{"model"}, {}]>] out_shardings=[<@pod, [{"data"}, {}]>] manual_axes={"data", "model"} (%x_1: tensor<16x64xf32>, %w1_1: tensor<64x64xf32>, %w2_1: tensor<64x64xf32>) {
      %1 = stablehlo.dot_general %x_1, %w1_1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {shardc.global = "f32[32@data, 256@model]"} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      %2 = stablehlo.constant {shardc.global = "f32[32@data, 256@model]", shardc.group = "relu#1/2"} dense<0.000000e+00> : tensor<16x64xf32>
      %h = stablehlo.maximum %1, %2 {shardc.global = "f32[32@data, 256@model]", shardc.group = "relu#1/2"} : tensor<16x64xf32>
      %3 = stablehlo.dot_general %h, %w2_1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {shardc.global = "f32[32@data, 64] partial(sum: model)", shardc.partial_over = ["model"]} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      %4 = "spmd.all_reduce"(%3) {axes = ["model"], kind = "sum", shardc.global = "f32[32@data, 64]", shardc.reason = "the result of dot_general in line 8 is a partial sum over model, needed whole by the result"} : (tensor<16x64xf32>) -> tensor<16x64xf32>
      sdy.return %4 : tensor<16x64xf32>
    } : (tensor<32x64xf32>, tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>
    func.return %0 : tensor<32x64xf32>
  }
}
