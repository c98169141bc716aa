// scatter add of two
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %c0: tensor<f32>, %c1: tensor<f32>):
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.add %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
// -----
// scatter add of two dtypes
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xi32>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<i32>, %c0: tensor<f32>, %c1: tensor<i32>):
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.add %a1, %c1 : tensor<i32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<4x1xi32>, tensor<4x16xf32>, tensor<4x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xi32>
}
// -----
// scatter add and max
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %c0: tensor<f32>, %c1: tensor<f32>):
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.maximum %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
// -----
// scatter max of two
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %c0: tensor<f32>, %c1: tensor<f32>):
    %r0 = stablehlo.maximum %a0, %c0 : tensor<f32>
    %r1 = stablehlo.maximum %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
// -----
// scatter or
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x0, %i, %u0) ({
  ^bb0(%a0: tensor<i1>, %c0: tensor<i1>):
    %r0 = stablehlo.or %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi32>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}
// -----
// scatter and
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x0, %i, %u0) ({
  ^bb0(%a0: tensor<i1>, %c0: tensor<i1>):
    %r0 = stablehlo.and %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi32>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}
// -----
// scatter and of two
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi1>, tensor<8x16xi1>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<i1>, %a1: tensor<i1>, %c0: tensor<i1>, %c1: tensor<i1>):
    %r0 = stablehlo.and %a0, %c0 : tensor<i1>
    %r1 = stablehlo.and %a1, %c1 : tensor<i1>
    stablehlo.return %r0, %r1 : tensor<i1>, tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<8x16xi1>, tensor<4x1xi32>, tensor<4x16xi1>, tensor<4x16xi1>) -> (tensor<8x16xi1>, tensor<8x16xi1>)
  return %0#0, %0#1 : tensor<8x16xi1>, tensor<8x16xi1>
}
// -----
// scatter and of ints
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi32>) {
  %0 = "stablehlo.scatter"(%x0, %i, %u0) ({
  ^bb0(%a0: tensor<i32>, %c0: tensor<i32>):
    %r0 = stablehlo.and %a0, %c0 : tensor<i32>
    stablehlo.return %r0 : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi32>, tensor<4x1xi32>, tensor<4x16xi32>) -> (tensor<8x16xi32>)
  return %0 : tensor<8x16xi32>
}
// -----
// scatter xor
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi1>) {
  %0 = "stablehlo.scatter"(%x0, %i, %u0) ({
  ^bb0(%a0: tensor<i1>, %c0: tensor<i1>):
    %r0 = stablehlo.xor %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<4x1xi32>, tensor<4x16xi1>) -> (tensor<8x16xi1>)
  return %0 : tensor<8x16xi1>
}
// -----
// scatter mul
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>) {
  %0 = "stablehlo.scatter"(%x0, %i, %u0) ({
  ^bb0(%a0: tensor<f32>, %c0: tensor<f32>):
    %r0 = stablehlo.multiply %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xf32>) -> (tensor<8x16xf32>)
  return %0 : tensor<8x16xf32>
}
// -----
// scatter add bool, f32
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xi1>, tensor<8x16xf32>) {
  %0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) ({
  ^bb0(%a0: tensor<i1>, %a1: tensor<f32>, %c0: tensor<i1>, %c1: tensor<f32>):
    %r0 = stablehlo.add %a0, %c0 : tensor<i1>
    %r1 = stablehlo.add %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<i1>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xi1>, tensor<4x16xf32>) -> (tensor<8x16xi1>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xi1>, tensor<8x16xf32>
}
// -----
// scatter three
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %x2: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}, %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %u2: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:3 = "stablehlo.scatter"(%x0, %x1, %x2, %i, %u0, %u1, %u2) ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<f32>, %c0: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>):
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.add %a1, %c1 : tensor<f32>
    %r2 = stablehlo.add %a2, %c2 : tensor<f32>
    stablehlo.return %r0, %r1, %r2 : tensor<f32>, tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x1xi32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
// -----
// sum from 1
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// max from 0.5
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.maximum %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// product from 2
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.multiply %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// sum uneven from 1
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<7x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// product uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<7x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.multiply %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// min uneven from 3
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<5x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6xf32>) {
  %z0 = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<5x6xf32>, tensor<f32>) -> (tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) {
    %r0 = stablehlo.minimum %a0, %c0 : tensor<f32>
    stablehlo.return %r0 : tensor<f32>
  }
  return %0 : tensor<6xf32>
}
// -----
// sum and max
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %x1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xf32>, tensor<6xf32>) {
  %z0 = stablehlo.constant dense<0.0> : tensor<f32>
  %z1 = stablehlo.constant dense<-1.0> : tensor<f32>
  %0:2 = stablehlo.reduce(%x0 init: %z0), (%x1 init: %z1) across dimensions = [0] : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) (%a1: tensor<f32>, %c1: tensor<f32>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.maximum %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xf32>
}
// -----
// two sums, uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}, %x1: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6xf32>, tensor<6xf32>) {
  %z0 = stablehlo.constant dense<1.0> : tensor<f32>
  %z1 = stablehlo.constant dense<1.0> : tensor<f32>
  %0:2 = stablehlo.reduce(%x0 init: %z0), (%x1 init: %z1) across dimensions = [0] : (tensor<7x6xf32>, tensor<7x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) (%a1: tensor<f32>, %c1: tensor<f32>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.add %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xf32>
}
// -----
// sum and max, uneven, from 2
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, %x1: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xf32>, tensor<6xf32>) {
  %z0 = stablehlo.constant dense<2.0> : tensor<f32>
  %z1 = stablehlo.constant dense<2.0> : tensor<f32>
  %0:2 = stablehlo.reduce(%x0 init: %z0), (%x1 init: %z1) across dimensions = [0] : (tensor<7x6xf32>, tensor<7x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>)
   reducer(%a0: tensor<f32>, %c0: tensor<f32>) (%a1: tensor<f32>, %c1: tensor<f32>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<f32>
    %r1 = stablehlo.maximum %a1, %c1 : tensor<f32>
    stablehlo.return %r0, %r1 : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xf32>
}
// -----
// ints and
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xi32>) {
  %z0 = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xi32>, tensor<i32>) -> (tensor<6xi32>)
   reducer(%a0: tensor<i32>, %c0: tensor<i32>) {
    %r0 = stablehlo.and %a0, %c0 : tensor<i32>
    stablehlo.return %r0 : tensor<i32>
  }
  return %0 : tensor<6xi32>
}
// -----
// ints xor
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xi32>) {
  %z0 = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xi32>, tensor<i32>) -> (tensor<6xi32>)
   reducer(%a0: tensor<i32>, %c0: tensor<i32>) {
    %r0 = stablehlo.xor %a0, %c0 : tensor<i32>
    stablehlo.return %r0 : tensor<i32>
  }
  return %0 : tensor<6xi32>
}
// -----
// bool or from true
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xi1>) {
  %z0 = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xi1>, tensor<i1>) -> (tensor<6xi1>)
   reducer(%a0: tensor<i1>, %c0: tensor<i1>) {
    %r0 = stablehlo.or %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }
  return %0 : tensor<6xi1>
}
// -----
// bool add
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xi1>) {
  %z0 = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xi1>, tensor<i1>) -> (tensor<6xi1>)
   reducer(%a0: tensor<i1>, %c0: tensor<i1>) {
    %r0 = stablehlo.add %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }
  return %0 : tensor<6xi1>
}
// -----
// bool xor
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x0: tensor<8x6xi1> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> (tensor<6xi1>) {
  %z0 = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.reduce(%x0 init: %z0) across dimensions = [0] : (tensor<8x6xi1>, tensor<i1>) -> (tensor<6xi1>)
   reducer(%a0: tensor<i1>, %c0: tensor<i1>) {
    %r0 = stablehlo.xor %a0, %c0 : tensor<i1>
    stablehlo.return %r0 : tensor<i1>
  }
  return %0 : tensor<6xi1>
}
// -----
// abs of a product
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.abs %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// rounded product
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xi32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.convert %0 : (tensor<8x8xf32>) -> tensor<8x8xi32>
  return %1 : tensor<8x8xi32>
}
// -----
// product to bf16 and back
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.convert %0 : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %2 = stablehlo.convert %1 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// -----
// ints divided
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xi32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xi32>, tensor<16x8xi32>) -> tensor<8x8xi32>
  %c = stablehlo.constant dense<3> : tensor<8x8xi32>
  %1 = stablehlo.divide %0, %c : tensor<8x8xi32>
  return %1 : tensor<8x8xi32>
}
// -----
// ints shifted
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xi32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xi32>, tensor<16x8xi32>) -> tensor<8x8xi32>
  %c = stablehlo.constant dense<1> : tensor<8x8xi32>
  %1 = stablehlo.shift_left %0, %c : tensor<8x8xi32>
  return %1 : tensor<8x8xi32>
}
// -----
// product plus one
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %1 = stablehlo.add %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// product times itself
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// max with zero
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %1 = stablehlo.maximum %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// select by its sign
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %p = stablehlo.compare GT, %0, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
  %1 = stablehlo.select %p, %0, %c : tensor<8x8xi1>, tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// padded by one
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<16x9xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.pad %0, %c, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<16x9xf32>
  return %1 : tensor<16x9xf32>
}
// -----
// joined with ones
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<16x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %1 = stablehlo.concatenate %0, %c, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
// -----
// clamped
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %l = stablehlo.constant dense<-1.0> : tensor<f32>
  %h = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.clamp %l, %0, %h : (tensor<f32>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// updated in place
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %i = stablehlo.constant dense<20> : tensor<i32>
  %c = stablehlo.constant dense<1.0> : tensor<2x8xf32>
  %1 = stablehlo.dynamic_update_slice %0, %c, %i, %i : (tensor<8x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// sum of the product, from 1
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"a"}]>}, %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// -----
// slice from beyond the end
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<3x6xf32> {
  %i = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [3, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}
// -----
// slice from below zero
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<3x6xf32> {
  %i = stablehlo.constant dense<-5> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [3, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}
// -----
// strided slice
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<3x3xf32> {
  %0 = stablehlo.slice %x [1:8:3, 0:6:2] : (tensor<8x6xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
// -----
// reverse, uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<7x5xf32> {
  %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}
// -----
// roll
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6xf32> {
  %0 = stablehlo.slice %x [3:8, 0:6] : (tensor<8x6xf32>) -> tensor<5x6xf32>
  %1 = stablehlo.slice %x [0:3, 0:6] : (tensor<8x6xf32>) -> tensor<3x6xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x6xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}
// -----
// halo
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<10x6xf32> {
  %0 = stablehlo.slice %x [6:8, 0:6] : (tensor<8x6xf32>) -> tensor<2x6xf32>
  %2 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<2x6xf32>, tensor<8x6xf32>) -> tensor<10x6xf32>
  return %2 : tensor<10x6xf32>
}
// -----
// iota added, uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<7x5xi32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<7x5xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<7x5xi32>
  %1 = stablehlo.add %x, %0 : tensor<7x5xi32>
  return %1 : tensor<7x5xi32>
}
// -----
// reshape merges split dims
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<48xf32> {
  %0 = stablehlo.reshape %x : (tensor<8x6xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
// -----
// reshape of uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<5x7xf32> {
  %0 = stablehlo.reshape %x : (tensor<7x5xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
// -----
// bits of another width
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6x2xi16> {
  %0 = stablehlo.bitcast_convert %x : (tensor<8x6xf32>) -> tensor<8x6x2xi16>
  return %0 : tensor<8x6x2xi16>
}
// -----
// gather out of bounds
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<3x6xf32> {
  %i = stablehlo.constant dense<[[-4], [3], [99]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false} : (tensor<8x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}
// -----
// running sum
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 8, 1>, padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// windows from 1, uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<6x6xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 3, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<7x6xf32>, tensor<f32>) -> tensor<6x6xf32>
  return %0 : tensor<6x6xf32>
}
// -----
// branch beyond the last
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6xf32> {
  %i = stablehlo.constant dense<9> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
  stablehlo.return %x : tensor<8x6xf32>
}, {
  %n = stablehlo.negate %x : tensor<8x6xf32>
  stablehlo.return %n : tensor<8x6xf32>
}) : (tensor<i32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// branch below zero
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6xf32> {
  %i = stablehlo.constant dense<-3> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
  stablehlo.return %x : tensor<8x6xf32>
}, {
  %n = stablehlo.negate %x : tensor<8x6xf32>
  stablehlo.return %n : tensor<8x6xf32>
}) : (tensor<i32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// sorted descending, uneven
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<7x5xf32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %s : tensor<i1>
}) {dimension = 0 : i64, is_stable = true} : (tensor<7x5xf32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}
// -----
// random bits
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<2xui64> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) -> tensor<4x6xui32> {
  %s, %0 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>)
  return %0 : tensor<4x6xui32>
}
// -----
// gather, a row that no index says
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %arg1: tensor<5xui32>) -> tensor<5x1xf32> {
  %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<4x6xf32>, tensor<5xui32>) -> tensor<5x1xf32>
  return %0 : tensor<5x1xf32>
}
// -----
// gather, a window of one that no index moves, uneven
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg1: tensor<3x1xi32>) -> tensor<3x1x1xf32> {
  %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<6x5xf32>, tensor<3x1xi32>) -> tensor<3x1x1xf32>
  return %0 : tensor<3x1x1xf32>
}
// -----
// gather without indices
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg1: tensor<3x0xi64>) -> tensor<3x2xf32> {
  %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<4x2xf32>, tensor<3x0xi64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
// -----
// scatter, a row that no index says
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg1: tensor<3x1xi32>, %arg2: tensor<3xf32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>} : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
// scatter, rows that no index says, set, uneven
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<6x7xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %arg1: tensor<3x1xi32>, %arg2: tensor<3xi32>) -> (tensor<6x7xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>} : (tensor<6x7xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<6x7xi32>
  return %0 : tensor<6x7xi32>
}
// -----
// scatter without indices
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg1: tensor<3x0xi32>, %arg2: tensor<3x6xf32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [], index_vector_dim = 1>} : (tensor<4x6xf32>, tensor<3x0xi32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
// depthwise convolution, 5 groups over 4 devices
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<2x3x3x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}, %arg1: tensor<2x2x1x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) -> (tensor<2x2x2x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) {
  %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}, {}, {"x"}]>]>} : (tensor<2x3x3x5xf32>, tensor<2x2x1x5xf32>) -> tensor<2x2x2x5xf32>
  return %2 : tensor<2x2x2x5xf32>
}
// -----
// convolution, 3 groups of 2 outputs over 4 devices
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<2x3x3x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}, %arg1: tensor<2x2x1x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) -> (tensor<2x2x2x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) {
  %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}, {}, {"x"}]>]>} : (tensor<2x3x3x3xf32>, tensor<2x2x1x6xf32>) -> tensor<2x2x2x6xf32>
  return %2 : tensor<2x2x2x6xf32>
}
// -----
// convolution, 5 batch groups over 2 devices
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<5x3x3x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}, {}]>}, %arg1: tensor<2x2x2x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) -> (tensor<1x2x2x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) {
  %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 5 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}, {}, {"x"}]>]>} : (tensor<5x3x3x2xf32>, tensor<2x2x2x5xf32>) -> tensor<1x2x2x5xf32>
  return %2 : tensor<1x2x2x5xf32>
}
// -----
// convolution, 3 groups of 2 inputs over 2 devices
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<2x3x3x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}, %arg1: tensor<2x2x2x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) -> (tensor<2x2x2x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) {
  %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}, {}, {"x"}]>]>} : (tensor<2x3x3x6xf32>, tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  return %2 : tensor<2x2x2x6xf32>
}
// -----
// convolution, 6 batch groups over 4 devices
sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<6x3x3x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}, {}]>}, %arg1: tensor<2x2x2x12xf32>) -> tensor<1x2x2x12xf32> {
  %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 6 : i64, feature_group_count = 1 : i64} : (tensor<6x3x3x2xf32>, tensor<2x2x2x12xf32>) -> tensor<1x2x2x12xf32>
  return %2 : tensor<1x2x2x12xf32>
}
// -----
// the device's number, which nobody uses
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x6xf32> {
  %i = stablehlo.partition_id : tensor<ui32>
  %0 = stablehlo.negate %x : tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// loop that swaps two carried values of unlike shardings
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %0:3 = stablehlo.while(%a = %x, %b = %y, %i = %c0) : tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>
    cond {
    %q = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %t, %a, %j : tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
// -----
// loop that starts at a negative count and steps by 3, indexing by the count
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}]>}) {
  %c0 = stablehlo.constant dense<-4> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %n = stablehlo.constant dense<17> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%a = %x, %i = %c0) : tensor<12x4xf32>, tensor<i32>
    cond {
    %q = stablehlo.compare LE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %a, %i, %z, sizes = [2, 4] : (tensor<12x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %t = stablehlo.add %s, %s : tensor<2x4xf32>
    %j = stablehlo.add %i, %three : tensor<i32>
    %u = stablehlo.dynamic_update_slice %a, %t, %j, %z : (tensor<12x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
    stablehlo.return %u, %j : tensor<12x4xf32>, tensor<i32>
  }
  return %0#0 : tensor<12x4xf32>
}
// -----
// a count that wraps: ui8 that goes beyond 255
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xui8> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}]>}) -> (tensor<8xui8> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}]>}, tensor<i32>) {
  %c0 = stablehlo.constant dense<250> : tensor<ui8>
  %one = stablehlo.constant dense<1> : tensor<ui8>
  %n = stablehlo.constant dense<3> : tensor<ui8>
  %k0 = stablehlo.constant dense<0> : tensor<i32>
  %k1 = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%a = %x, %i = %c0, %k = %k0) : tensor<8xui8>, tensor<ui8>, tensor<i32>
    cond {
    %q = stablehlo.compare NE, %i, %n : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<ui8>) -> tensor<8xui8>
    %t = stablehlo.add %a, %b : tensor<8xui8>
    %j = stablehlo.add %i, %one : tensor<ui8>
    %l = stablehlo.add %k, %k1 : tensor<i32>
    stablehlo.return %t, %j, %l : tensor<8xui8>, tensor<ui8>, tensor<i32>
  }
  return %0#0, %0#2 : tensor<8xui8>, tensor<i32>
}
// -----
// a value used twice, once as bits, once as a number, before a split sum
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}) -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{?}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %zf = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.bitcast_convert %x : (tensor<8x8xf32>) -> tensor<8x8xi32>
  %s = stablehlo.reduce(%b init: %z) applies stablehlo.xor across dimensions = [1] : (tensor<8x8xi32>, tensor<i32>) -> tensor<8xi32>
  %m = stablehlo.reduce(%x init: %zf) applies stablehlo.minimum across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %s, %m : tensor<8xi32>, tensor<8xf32>
}
// -----
// bits narrower: two i16 of each f32, and back in another order
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6x4x2xui16>, tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", ?}, {?}]>}) {
  %b = stablehlo.bitcast_convert %x : (tensor<6x4xf32>) -> tensor<6x4x2xui16>
  %r = stablehlo.reverse %b, dims = [0] : tensor<6x4x2xui16>
  %c = stablehlo.bitcast_convert %r : (tensor<6x4x2xui16>) -> tensor<6x4xf32>
  return %b, %c : tensor<6x4x2xui16>, tensor<6x4xf32>
}
// -----
// a product with two batch dimensions in another order on both sides
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4x6x2x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}, {}, {?}]>}, %y: tensor<2x8x4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b"}, {}, {?}]>}) -> (tensor<2x4x6x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"b", "a"}, {?}, {}]>}) {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [2, 0] x [0, 2], contracting_dims = [3] x [1] : (tensor<4x6x2x8xf32>, tensor<2x8x4x3xf32>) -> tensor<2x4x6x3xf32>
  return %0 : tensor<2x4x6x3xf32>
}
// -----
// a product contracted over two dimensions crosswise
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<4x6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}, {"a", ?}]>}, %y: tensor<8x5x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}, {?}]>}) -> (tensor<4x5xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1, 2] x [2, 0] : (tensor<4x6x8xf32>, tensor<8x5x6xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
// -----
// a sum over nothing and a sum over an empty dimension
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<4x0xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}, %y: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}, {?}]>}) -> (tensor<4xf32>, tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  %z = stablehlo.constant dense<2.5> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x0xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%y init: %m) applies stablehlo.maximum across dimensions = [] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %2 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<4x0xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4x6xf32>, tensor<4xf32>
}
// -----
// an argmax by a reduction of two, ties to the lower index
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%t: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", "b"}, {}]>}) -> (tensor<6xf32>, tensor<6xi32> {sdy.sharding = #sdy.sharding<@m, [{"b", ?}]>}) {
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<6x8xi32>
  %0:2 = stablehlo.reduce(%t init: %m), (%i init: %z) across dimensions = [1] : (tensor<6x8xf32>, tensor<6x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %pn = stablehlo.or %p, %n : tensor<i1>
    %e = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %el = stablehlo.and %e, %l : tensor<i1>
    %w = stablehlo.or %pn, %el : tensor<i1>
    %v = stablehlo.select %pn, %a, %c : tensor<i1>, tensor<f32>
    %k = stablehlo.select %w, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %v, %k : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xi32>
}
// -----
// cumulative product by a window, reversed
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}) -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}]>}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reverse %x, dims = [0] : tensor<8x3xf32>
  %0 = "stablehlo.reduce_window"(%r, %one) <{padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
// -----
// concatenation of pieces that no axis divides, sliced again across them
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}, %y: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}, %w: tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}]>}) -> (tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {?}]>}, tensor<3x4xf32>) {
  %0 = stablehlo.concatenate %x, %w, %y, %x, dim = 0 : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<12x4xf32>
  %1 = stablehlo.slice %0 [2:9, 0:4] : (tensor<12x4xf32>) -> tensor<7x4xf32>
  %2 = stablehlo.slice %0 [1:11:4, 0:4] : (tensor<12x4xf32>) -> tensor<3x4xf32>
  return %1, %2 : tensor<7x4xf32>, tensor<3x4xf32>
}
// -----
// a call in a loop in a branch
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}, %p: tensor<i1> {sdy.sharding = #sdy.sharding<@m, []>}) -> (tensor<8x4xf32>) {
  %0 = "stablehlo.if"(%p) ({
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1:2 = stablehlo.while(%a = %x, %i = %c0) : tensor<8x4xf32>, tensor<i32>
      cond {
      %q = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %t = func.call @roll(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %j : tensor<8x4xf32>, tensor<i32>
    }
    stablehlo.return %1#0 : tensor<8x4xf32>
  }, {
    %2 = func.call @roll(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %2 : tensor<8x4xf32>
  }) : (tensor<i1>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @roll(%q: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.slice %q [3:8, 0:4] : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.slice %q [0:3, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
// -----
// a case of five branches, by a number that a reduction gives
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}, %i: tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a", ?}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %k = stablehlo.reduce(%i init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  %0 = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// an init of a sum that is itself a split sum
sdy.mesh @m = <["a"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"a"}]>}, %y: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"a", ?}]>}) -> (tensor<8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// padding by a value that is a split maximum, then a window over it
sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}) -> (tensor<9x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {}]>}) {
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %v = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.pad %x, %v, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<11x4xf32>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<11x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}
