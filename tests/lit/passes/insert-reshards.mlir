// RUN: shardc-opt %s -p insert-reshards --no-locations --split-input-file | filecheck %s

// A product over a split dimension is a partial sum. A reshard ends it, and says why it is there.
// CHECK-LABEL: @main
// CHECK: stablehlo.dot_general {{.*}}<@pod, [{"data"}, {}], unreduced={"model"}>
// CHECK-NEXT: sdy.reshard %0 <@pod, [{"data"}, {}]> {shardc.reason = "{{.*}} is a partial sum over model
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(
    %h: tensor<32x256xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {"model"}]>},
    %w: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"model"}, {}]>})
    -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<32x256xf32>, tensor<256x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}

// -----

// Two partial sums are added before they are reduced, because that is one reshard in place of two.
// CHECK-LABEL: @main
// CHECK-COUNT-2: stablehlo.dot_general {{.*}}unreduced={"r"}
// CHECK-NEXT: [[SUM:%.*]] = stablehlo.add {{.*}}unreduced={"r"}
// CHECK-NEXT: sdy.reshard [[SUM]] <@ring, [{}, {}]>
// CHECK-NEXT: func.return
sdy.mesh @ring = <["r"=4]>
func.func @main(
    %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>},
    %a: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>},
    %y: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>},
    %b: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>})
    -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.dot_general %y, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// -----

// One copy serves two uses.
// CHECK-LABEL: @main
// CHECK-NEXT: [[COPY:%.*]] = sdy.reshard %x <@ring, [{}, {"r"}]>
// CHECK-NEXT: stablehlo.transpose [[COPY]]
// CHECK-NEXT: func.return [[COPY]],
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>})
    -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {"r"}]>},
        tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x64xf32>) -> tensor<64x8xf32>
  return %x, %0 : tensor<8x64xf32>, tensor<64x8xf32>
}

// -----

// The rows of a table are looked up where they are: a form of its own, whose result is a partial sum.
// CHECK-LABEL: @main
// CHECK-NEXT: "stablehlo.gather"(%table, %ids) {{.*}}unreduced={"r"}{{.*}}shardc.form = "masked"
sdy.mesh @ring = <["r"=4]>
func.func @main(
    %table: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>},
    %ids: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@ring, [{}, {}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%table, %ids) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 8>, indices_are_sorted = false
  }> : (tensor<64x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
