module @headwater {
  func.func public @main(
      %arg0_x: tensor<4x3xf32>,
      %arg1_key: tensor<2xui32>,
      %arg2_dense.weight: tensor<3x3xf32> {tf.aliasing_output = 0 : i32},
      %arg3_dense.bias: tensor<3xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<f32>) {
    %constant_1 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_2 = stablehlo.broadcast_in_dim %constant_1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %constant_3 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_4 = stablehlo.broadcast_in_dim %constant_3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %dot_5 = stablehlo.dot_general %arg0_x, %arg2_dense.weight, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    %broadcast_6 = stablehlo.broadcast_in_dim %arg3_dense.bias, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %add_7 = stablehlo.add %dot_5, %broadcast_6 : tensor<4x3xf32>
    %mul_8 = stablehlo.multiply %add_7, %add_7 : tensor<4x3xf32>
    %constant_9 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_10 = stablehlo.broadcast_in_dim %constant_9, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_11 = stablehlo.multiply %add_7, %constant_10 : tensor<4x3xf32>
    %erf_12 = chlo.erf %mul_11 : tensor<4x3xf32> -> tensor<4x3xf32>
    %constant_13 = stablehlo.constant dense<0x3F000000> : tensor<f32>
    %constant_14 = stablehlo.broadcast_in_dim %constant_13, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %constant_15 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_16 = stablehlo.broadcast_in_dim %constant_15, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %add_17 = stablehlo.add %erf_12, %constant_16 : tensor<4x3xf32>
    %mul_18 = stablehlo.multiply %add_17, %constant_14 : tensor<4x3xf32>
    %constant_19 = stablehlo.constant dense<0x3ECC422A> : tensor<f32>
    %constant_20 = stablehlo.broadcast_in_dim %constant_19, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %constant_21 = stablehlo.constant dense<0xBF000000> : tensor<f32>
    %constant_22 = stablehlo.broadcast_in_dim %constant_21, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_23 = stablehlo.multiply %mul_8, %constant_22 : tensor<4x3xf32>
    %exp_24 = stablehlo.exponential %mul_23 : tensor<4x3xf32>
    %mul_25 = stablehlo.multiply %exp_24, %constant_20 : tensor<4x3xf32>
    %mul_26 = stablehlo.multiply %add_7, %mul_18 : tensor<4x3xf32>
    %mul_27 = stablehlo.multiply %add_7, %mul_25 : tensor<4x3xf32>
    %add_28 = stablehlo.add %mul_18, %mul_27 : tensor<4x3xf32>
    %mul_29 = stablehlo.multiply %constant_16, %add_28 : tensor<4x3xf32>
    %keep_30 = stablehlo.optimization_barrier %mul_29 : tensor<4x3xf32>
    %add_31 = stablehlo.add %arg0_x, %mul_26 : tensor<4x3xf32>
    %reduce_sum_32 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_33 = stablehlo.reduce(%add_31 init: %reduce_sum_32) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %constant_34 = stablehlo.constant dense<0x3EAAAAAB> : tensor<f32>
    %constant_35 = stablehlo.broadcast_in_dim %constant_34, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %mul_36 = stablehlo.multiply %reduce_sum_33, %constant_35 : tensor<4xf32>
    %reshape_37 = stablehlo.reshape %mul_36 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_38 = stablehlo.reshape %reshape_37 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_39 = stablehlo.broadcast_in_dim %reshape_38, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %sub_40 = stablehlo.subtract %add_31, %broadcast_39 : tensor<4x3xf32>
    %mul_41 = stablehlo.multiply %sub_40, %sub_40 : tensor<4x3xf32>
    %reduce_sum_42 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_43 = stablehlo.reduce(%mul_41 init: %reduce_sum_42) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_44 = stablehlo.multiply %reduce_sum_43, %constant_35 : tensor<4xf32>
    %constant_45 = stablehlo.constant dense<0x2B8CBCCC> : tensor<f32>
    %constant_46 = stablehlo.broadcast_in_dim %constant_45, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %add_47 = stablehlo.add %mul_44, %constant_46 : tensor<4xf32>
    %rsqrt_48 = stablehlo.rsqrt %add_47 : tensor<4xf32>
    %reshape_49 = stablehlo.reshape %rsqrt_48 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_50 = stablehlo.reshape %reshape_49 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_51 = stablehlo.broadcast_in_dim %reshape_50, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %mul_52 = stablehlo.multiply %sub_40, %broadcast_51 : tensor<4x3xf32>
    %broadcast_53 = stablehlo.broadcast_in_dim %constant_2, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %mul_54 = stablehlo.multiply %mul_52, %broadcast_53 : tensor<4x3xf32>
    %broadcast_55 = stablehlo.broadcast_in_dim %constant_4, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %add_56 = stablehlo.add %mul_54, %broadcast_55 : tensor<4x3xf32>
    %mul_57 = stablehlo.multiply %add_56, %arg0_x : tensor<4x3xf32>
    %reduce_sum_58 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_59 = stablehlo.reduce(%mul_57 init: %reduce_sum_58) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %constant_60 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %broadcast_61 = stablehlo.broadcast_in_dim %constant_60, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_62 = stablehlo.multiply %broadcast_61, %arg0_x : tensor<4x3xf32>
    %mul_63 = stablehlo.multiply %mul_62, %broadcast_53 : tensor<4x3xf32>
    %mul_64 = stablehlo.multiply %mul_63, %mul_52 : tensor<4x3xf32>
    %reduce_sum_65 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_66 = stablehlo.reduce(%mul_64 init: %reduce_sum_65) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_67 = stablehlo.multiply %reduce_sum_66, %constant_35 : tensor<4xf32>
    %reshape_68 = stablehlo.reshape %mul_67 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_69 = stablehlo.reshape %reshape_68 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_70 = stablehlo.broadcast_in_dim %reshape_69, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %mul_71 = stablehlo.multiply %mul_52, %broadcast_70 : tensor<4x3xf32>
    %reduce_sum_72 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_73 = stablehlo.reduce(%mul_63 init: %reduce_sum_72) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_74 = stablehlo.multiply %reduce_sum_73, %constant_35 : tensor<4xf32>
    %reshape_75 = stablehlo.reshape %mul_74 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_76 = stablehlo.reshape %reshape_75 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_77 = stablehlo.broadcast_in_dim %reshape_76, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %sub_78 = stablehlo.subtract %mul_63, %broadcast_77 : tensor<4x3xf32>
    %sub_79 = stablehlo.subtract %sub_78, %mul_71 : tensor<4x3xf32>
    %mul_80 = stablehlo.multiply %sub_79, %broadcast_51 : tensor<4x3xf32>
    %mul_81 = stablehlo.multiply %mul_80, %keep_30 : tensor<4x3xf32>
    %dot_82 = stablehlo.dot_general %mul_81, %arg0_x, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    %reduce_sum_83 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_84 = stablehlo.reduce(%mul_81 init: %reduce_sum_83) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    %constant_85 = stablehlo.constant dense<0x3DCCCCCD> : tensor<f32>
    %broadcast_86 = stablehlo.broadcast_in_dim %constant_85, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %mul_87 = stablehlo.multiply %dot_82, %broadcast_86 : tensor<3x3xf32>
    %sub_88 = stablehlo.subtract %arg2_dense.weight, %mul_87 : tensor<3x3xf32>
    %broadcast_89 = stablehlo.broadcast_in_dim %constant_85, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %mul_90 = stablehlo.multiply %reduce_sum_84, %broadcast_89 : tensor<3xf32>
    %sub_91 = stablehlo.subtract %arg3_dense.bias, %mul_90 : tensor<3xf32>
    return %sub_88, %sub_91, %reduce_sum_59 : tensor<3x3xf32>, tensor<3xf32>, tensor<f32>
  }
}
