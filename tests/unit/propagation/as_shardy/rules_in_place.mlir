// Rules that depend on what makes and uses a value, and operations with several operands.
// RUN: -sdy-populate-op-sharding-rules
// RUN: -sdy-populate-op-sharding-rules=conservative-propagation=true
// RUN: -sdy-user-priority-propagate
// RUN: -sdy-basic-propagate=keep-sharding-rules=true

sdy.mesh @m = <["a"=2, "b"=2]>

func.func @gather_two(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xbf16>) -> (tensor<8x64xf32>, tensor<8x64xbf16>) {
  %0:2 = "stablehlo.all_gather"(%a, %b) {all_gather_dim = 1 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<8x16xf32>, tensor<8x16xbf16>) -> (tensor<8x64xf32>, tensor<8x64xbf16>)
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xbf16>
}

func.func @exchange_two(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> (tensor<32x4xf32>, tensor<32x4xf32>) {
  %0:2 = "stablehlo.all_to_all"(%a, %b) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<32x4xf32>, tensor<32x4xf32>)
  return %0#0, %0#1 : tensor<32x4xf32>, tensor<32x4xf32>
}

func.func @exchange_two_in_place(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.all_to_all"(%a, %b) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @join_slices(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %a [0:8, 4:16] : (tensor<8x16xf32>) -> tensor<8x12xf32>
  %2 = stablehlo.concatenate %1, %0, dim = 1 : (tensor<8x12xf32>, tensor<8x4xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

func.func @join_slices2(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %b [0:8, 4:16] : (tensor<8x16xf32>) -> tensor<8x12xf32>
  %2 = stablehlo.concatenate %1, %0, dim = 1 : (tensor<8x12xf32>, tensor<8x4xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

func.func @join_slices4(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x20xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %0, %a, dim = 1 : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<8x20xf32>
  return %2 : tensor<8x20xf32>
}

func.func @join_slices5(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

func.func @join_slices6(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> tensor<16x4xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %b [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %2 : tensor<16x4xf32>
}

func.func @scatter_two(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xi32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.maximum %b, %d : tensor<i32>
      stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xi32>
}

func.func @scatter_two2(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xf32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.add %b, %d : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @scatter_two3(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xf32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      stablehlo.return %s, %d : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @scatter_two4(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xf32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %d : tensor<f32>
      %t = stablehlo.add %b, %c : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @state(%x: tensor<2xui32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, %y: tensor<2xui32>) -> (tensor<2xui32>) {
  %0 = stablehlo.custom_call @X64Combine(%x, %y) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  %a, %b = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16xui32>)
  %1 = stablehlo.custom_call @X64SplitLow(%a) : (tensor<2xui64>) -> tensor<2xui32>
  return %1 : tensor<2xui32>
}

func.func @join_with_slices1(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x20xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %a, %0, dim = 1 : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x20xf32>
  return %2 : tensor<8x20xf32>
}

func.func @join_with_slices2(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> tensor<8x20xf32> {
  %0 = stablehlo.slice %b [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %a, %0, dim = 1 : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x20xf32>
  return %2 : tensor<8x20xf32>
}

func.func @join_with_slices4(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %b: tensor<8x16xf32>) -> tensor<8x24xf32> {
  %0 = stablehlo.slice %b [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %a, %0, %1, dim = 1 : (tensor<8x16xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x24xf32>
  return %2 : tensor<8x24xf32>
}

func.func @join_with_slices5(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x36xf32> {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %a, %0, %a, dim = 1 : (tensor<8x16xf32>, tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<8x36xf32>
  return %2 : tensor<8x36xf32>
}

func.func @join_with_slices6(%z: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x20xf32> {
  %a = stablehlo.tanh %z : tensor<8x16xf32>
  %0 = stablehlo.slice %a [0:8, 0:8] : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.slice %0 [0:8, 0:4] : (tensor<8x8xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.concatenate %a, %1, dim = 1 : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x20xf32>
  return %2 : tensor<8x20xf32>
}

func.func @state1(%x: tensor<2xui32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, %y: tensor<2xui32>) -> (tensor<2xui64>, tensor<2xui64>) {
  %0 = stablehlo.custom_call @X64Combine(%x, %y) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  %a, %b = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16xui32>)
  return %a, %0 : tensor<2xui64>, tensor<2xui64>
}

func.func @state3(%x: tensor<2xui32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, %y: tensor<2xui32>) -> (tensor<2xui32>) {
  %0 = stablehlo.custom_call @X64Combine(%x, %y) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  %a, %b = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16xui32>)
  %1 = stablehlo.custom_call @X64SplitHigh(%a) : (tensor<2xui64>) -> tensor<2xui32>
  return %1 : tensor<2xui32>
}

func.func @state4(%x: tensor<2xui32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}, %y: tensor<2xui32>) -> (tensor<8x16xui32>) {
  %0 = stablehlo.custom_call @X64Combine(%x, %y) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  %a, %b = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16xui64>)
  %1 = stablehlo.custom_call @X64SplitHigh(%b) : (tensor<8x16xui64>) -> tensor<8x16xui32>
  return %1 : tensor<8x16xui32>
}

func.func @scatter_bool6(%x: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xi1>) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %s = stablehlo.and %a, %b : tensor<i1>
      stablehlo.return %s : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi64>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}

func.func @scatter_ori32(%x: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xi32>) -> (tensor<8x16xi32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.or %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi32>, tensor<4x1xi64>, tensor<4x16xi32>) -> (tensor<8x16xi32>)
  return %0 : tensor<8x16xi32>
}

func.func @scatter_xori32(%x: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xi32>) -> (tensor<8x16xi32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.xor %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi32>, tensor<4x1xi64>, tensor<4x16xi32>) -> (tensor<8x16xi32>)
  return %0 : tensor<8x16xi32>
}

func.func @scatter_ori1(%x: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xi1>) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %s = stablehlo.or %a, %b : tensor<i1>
      stablehlo.return %s : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi64>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}

func.func @scatter_xori1(%x: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xi1>) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %s = stablehlo.xor %a, %b : tensor<i1>
      stablehlo.return %s : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi64>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}

func.func @scatter_multiplyf32(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>) -> (tensor<8x16xf32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>) -> (tensor<8x16xf32>)
  return %0 : tensor<8x16xf32>
}

func.func @megascale(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @xla.megascale.provide_metadata(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

func.func @scatter_mixdt(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xi32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.add %b, %d : tensor<i32>
      stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xi32>
}

func.func @scatter_crossed(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xf32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.add %b, %d : tensor<f32>
      stablehlo.return %t, %s : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @scatter_flipped(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {"b", ?}]>}, %y: tensor<8x16xf32>, %i: tensor<4x1xi64>, %u: tensor<4x16xf32>, %v: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %c, %a : tensor<f32>
      %t = stablehlo.add %b, %d : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi64>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
