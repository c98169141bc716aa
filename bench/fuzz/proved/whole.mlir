builtin.module {
  sdy.mesh @pod = <["data"=2, "model"=4]>
  func.func public @mlp(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}, %w1: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@pod, [{}, {"model"}]>}, %w2: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"model"}, {}]>}) -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x256xf32>) -> tensor<32x256xf32>
    %1 = stablehlo.constant {shardc.group = "relu#1/2"} dense<0.000000e+00> : tensor<32x256xf32>
    %h = stablehlo.maximum %0, %1 {shardc.group = "relu#1/2"} : tensor<32x256xf32>
    %2 = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>
    func.return %2 : tensor<32x64xf32>
  }
}
