module @headwater {
  func.func public @main(
      %arg0_x: tensor<1x4x4xf32>,
      %arg1_mask: tensor<1x4xi32>,
      %arg2_key: tensor<2xui32>) -> (tensor<1x4x4xf32>) {
    %reshape_1 = stablehlo.reshape %arg0_x : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_2 = stablehlo.transpose %reshape_1, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %dot_3 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_4 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_5 = stablehlo.dot_general %dot_3, %dot_4, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %constant_6 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_7 = stablehlo.broadcast_in_dim %constant_6, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_8 = stablehlo.multiply %dot_5, %constant_7 : tensor<1x2x4x4xf32>
    %convert_9 = stablehlo.convert %arg1_mask : (tensor<1x4xi32>) -> tensor<1x4xf32>
    %constant_10 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_11 = stablehlo.broadcast_in_dim %constant_10, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %sub_12 = stablehlo.subtract %constant_11, %convert_9 : tensor<1x4xf32>
    %constant_13 = stablehlo.constant dense<0xC61C4000> : tensor<f32>
    %constant_14 = stablehlo.broadcast_in_dim %constant_13, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %mul_15 = stablehlo.multiply %sub_12, %constant_14 : tensor<1x4xf32>
    %reshape_16 = stablehlo.reshape %mul_15 : (tensor<1x4xf32>) -> tensor<1x1x1x4xf32>
    %reshape_17 = stablehlo.reshape %reshape_16 : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
    %broadcast_18 = stablehlo.broadcast_in_dim %reshape_17, dims = [0, 3] : (tensor<1x4xf32>) -> tensor<1x2x4x4xf32>
    %add_19 = stablehlo.add %mul_8, %broadcast_18 : tensor<1x2x4x4xf32>
    %iota_20 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %iota_21 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %compare_22 = stablehlo.compare GT, %iota_21, %iota_20, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %constant_23 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_24 = stablehlo.broadcast_in_dim %constant_23, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %constant_25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %constant_26 = stablehlo.broadcast_in_dim %constant_25, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %select_27 = stablehlo.select %compare_22, %constant_26, %constant_24 : tensor<4x4xi1>, tensor<4x4xf32>
    %broadcast_28 = stablehlo.broadcast_in_dim %select_27, dims = [2, 3] : (tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %add_29 = stablehlo.add %add_19, %broadcast_28 : tensor<1x2x4x4xf32>
    %reduce_max_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_max_31 = stablehlo.reduce(%add_29 init: %reduce_max_30) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_32 = stablehlo.reshape %reduce_max_31 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_33 = stablehlo.reshape %reshape_32 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_34 = stablehlo.broadcast_in_dim %reshape_33, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_35 = stablehlo.subtract %add_29, %broadcast_34 : tensor<1x2x4x4xf32>
    %exp_36 = stablehlo.exponential %sub_35 : tensor<1x2x4x4xf32>
    %reduce_sum_37 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_38 = stablehlo.reduce(%exp_36 init: %reduce_sum_37) applies stablehlo.add across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_39 = stablehlo.reshape %reduce_sum_38 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_40 = stablehlo.reshape %reshape_39 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_41 = stablehlo.broadcast_in_dim %reshape_40, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %div_42 = stablehlo.divide %exp_36, %broadcast_41 : tensor<1x2x4x4xf32>
    %log_43 = stablehlo.log %reduce_sum_38 : tensor<1x2x4xf32>
    %add_44 = stablehlo.add %log_43, %reduce_max_31 : tensor<1x2x4xf32>
    %constant_45 = stablehlo.constant dense<0> : tensor<ui32>
    %constant_46 = stablehlo.broadcast_in_dim %constant_45, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %slice_47 = stablehlo.slice %arg2_key [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_48 = stablehlo.reshape %slice_47 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_49 = stablehlo.broadcast_in_dim %reshape_48, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %slice_50 = stablehlo.slice %arg2_key [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_51 = stablehlo.reshape %slice_50 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_52 = stablehlo.broadcast_in_dim %reshape_51, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %constant_53 = stablehlo.constant dense<466688986> : tensor<ui32>
    %constant_54 = stablehlo.broadcast_in_dim %constant_53, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %bit_xor_55 = stablehlo.xor %broadcast_49, %broadcast_52 : tensor<1xui32>
    %bit_xor_56 = stablehlo.xor %bit_xor_55, %constant_54 : tensor<1xui32>
    %add_57 = stablehlo.add %constant_46, %broadcast_49 : tensor<1xui32>
    %add_58 = stablehlo.add %constant_46, %broadcast_52 : tensor<1xui32>
    %add_59 = stablehlo.add %add_57, %add_58 : tensor<1xui32>
    %constant_60 = stablehlo.constant dense<19> : tensor<ui32>
    %constant_61 = stablehlo.broadcast_in_dim %constant_60, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_62 = stablehlo.shift_right_logical %add_58, %constant_61 : tensor<1xui32>
    %constant_63 = stablehlo.constant dense<13> : tensor<ui32>
    %constant_64 = stablehlo.broadcast_in_dim %constant_63, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_65 = stablehlo.shift_left %add_58, %constant_64 : tensor<1xui32>
    %bit_or_66 = stablehlo.or %shift_left_65, %shift_right_62 : tensor<1xui32>
    %bit_xor_67 = stablehlo.xor %bit_or_66, %add_59 : tensor<1xui32>
    %add_68 = stablehlo.add %add_59, %bit_xor_67 : tensor<1xui32>
    %constant_69 = stablehlo.constant dense<17> : tensor<ui32>
    %constant_70 = stablehlo.broadcast_in_dim %constant_69, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_71 = stablehlo.shift_right_logical %bit_xor_67, %constant_70 : tensor<1xui32>
    %constant_72 = stablehlo.constant dense<15> : tensor<ui32>
    %constant_73 = stablehlo.broadcast_in_dim %constant_72, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_74 = stablehlo.shift_left %bit_xor_67, %constant_73 : tensor<1xui32>
    %bit_or_75 = stablehlo.or %shift_left_74, %shift_right_71 : tensor<1xui32>
    %bit_xor_76 = stablehlo.xor %bit_or_75, %add_68 : tensor<1xui32>
    %add_77 = stablehlo.add %add_68, %bit_xor_76 : tensor<1xui32>
    %constant_78 = stablehlo.constant dense<6> : tensor<ui32>
    %constant_79 = stablehlo.broadcast_in_dim %constant_78, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_80 = stablehlo.shift_right_logical %bit_xor_76, %constant_79 : tensor<1xui32>
    %constant_81 = stablehlo.constant dense<26> : tensor<ui32>
    %constant_82 = stablehlo.broadcast_in_dim %constant_81, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_83 = stablehlo.shift_left %bit_xor_76, %constant_82 : tensor<1xui32>
    %bit_or_84 = stablehlo.or %shift_left_83, %shift_right_80 : tensor<1xui32>
    %bit_xor_85 = stablehlo.xor %bit_or_84, %add_77 : tensor<1xui32>
    %add_86 = stablehlo.add %add_77, %bit_xor_85 : tensor<1xui32>
    %shift_right_87 = stablehlo.shift_right_logical %bit_xor_85, %constant_82 : tensor<1xui32>
    %shift_left_88 = stablehlo.shift_left %bit_xor_85, %constant_79 : tensor<1xui32>
    %bit_or_89 = stablehlo.or %shift_left_88, %shift_right_87 : tensor<1xui32>
    %bit_xor_90 = stablehlo.xor %bit_or_89, %add_86 : tensor<1xui32>
    %add_91 = stablehlo.add %add_86, %broadcast_52 : tensor<1xui32>
    %constant_92 = stablehlo.constant dense<1> : tensor<ui32>
    %constant_93 = stablehlo.broadcast_in_dim %constant_92, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_94 = stablehlo.add %bit_xor_90, %bit_xor_56 : tensor<1xui32>
    %add_95 = stablehlo.add %add_94, %constant_93 : tensor<1xui32>
    %add_96 = stablehlo.add %add_91, %add_95 : tensor<1xui32>
    %shift_right_97 = stablehlo.shift_right_logical %add_95, %constant_73 : tensor<1xui32>
    %shift_left_98 = stablehlo.shift_left %add_95, %constant_70 : tensor<1xui32>
    %bit_or_99 = stablehlo.or %shift_left_98, %shift_right_97 : tensor<1xui32>
    %bit_xor_100 = stablehlo.xor %bit_or_99, %add_96 : tensor<1xui32>
    %add_101 = stablehlo.add %add_96, %bit_xor_100 : tensor<1xui32>
    %constant_102 = stablehlo.constant dense<3> : tensor<ui32>
    %constant_103 = stablehlo.broadcast_in_dim %constant_102, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_104 = stablehlo.shift_right_logical %bit_xor_100, %constant_103 : tensor<1xui32>
    %constant_105 = stablehlo.constant dense<29> : tensor<ui32>
    %constant_106 = stablehlo.broadcast_in_dim %constant_105, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_107 = stablehlo.shift_left %bit_xor_100, %constant_106 : tensor<1xui32>
    %bit_or_108 = stablehlo.or %shift_left_107, %shift_right_104 : tensor<1xui32>
    %bit_xor_109 = stablehlo.xor %bit_or_108, %add_101 : tensor<1xui32>
    %add_110 = stablehlo.add %add_101, %bit_xor_109 : tensor<1xui32>
    %constant_111 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_112 = stablehlo.broadcast_in_dim %constant_111, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_113 = stablehlo.shift_right_logical %bit_xor_109, %constant_112 : tensor<1xui32>
    %shift_left_114 = stablehlo.shift_left %bit_xor_109, %constant_112 : tensor<1xui32>
    %bit_or_115 = stablehlo.or %shift_left_114, %shift_right_113 : tensor<1xui32>
    %bit_xor_116 = stablehlo.xor %bit_or_115, %add_110 : tensor<1xui32>
    %add_117 = stablehlo.add %add_110, %bit_xor_116 : tensor<1xui32>
    %constant_118 = stablehlo.constant dense<8> : tensor<ui32>
    %constant_119 = stablehlo.broadcast_in_dim %constant_118, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_120 = stablehlo.shift_right_logical %bit_xor_116, %constant_119 : tensor<1xui32>
    %constant_121 = stablehlo.constant dense<24> : tensor<ui32>
    %constant_122 = stablehlo.broadcast_in_dim %constant_121, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_123 = stablehlo.shift_left %bit_xor_116, %constant_122 : tensor<1xui32>
    %bit_or_124 = stablehlo.or %shift_left_123, %shift_right_120 : tensor<1xui32>
    %bit_xor_125 = stablehlo.xor %bit_or_124, %add_117 : tensor<1xui32>
    %add_126 = stablehlo.add %add_117, %bit_xor_56 : tensor<1xui32>
    %constant_127 = stablehlo.constant dense<2> : tensor<ui32>
    %constant_128 = stablehlo.broadcast_in_dim %constant_127, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_129 = stablehlo.add %bit_xor_125, %broadcast_49 : tensor<1xui32>
    %add_130 = stablehlo.add %add_129, %constant_128 : tensor<1xui32>
    %add_131 = stablehlo.add %add_126, %add_130 : tensor<1xui32>
    %shift_right_132 = stablehlo.shift_right_logical %add_130, %constant_61 : tensor<1xui32>
    %shift_left_133 = stablehlo.shift_left %add_130, %constant_64 : tensor<1xui32>
    %bit_or_134 = stablehlo.or %shift_left_133, %shift_right_132 : tensor<1xui32>
    %bit_xor_135 = stablehlo.xor %bit_or_134, %add_131 : tensor<1xui32>
    %add_136 = stablehlo.add %add_131, %bit_xor_135 : tensor<1xui32>
    %shift_right_137 = stablehlo.shift_right_logical %bit_xor_135, %constant_70 : tensor<1xui32>
    %shift_left_138 = stablehlo.shift_left %bit_xor_135, %constant_73 : tensor<1xui32>
    %bit_or_139 = stablehlo.or %shift_left_138, %shift_right_137 : tensor<1xui32>
    %bit_xor_140 = stablehlo.xor %bit_or_139, %add_136 : tensor<1xui32>
    %add_141 = stablehlo.add %add_136, %bit_xor_140 : tensor<1xui32>
    %shift_right_142 = stablehlo.shift_right_logical %bit_xor_140, %constant_79 : tensor<1xui32>
    %shift_left_143 = stablehlo.shift_left %bit_xor_140, %constant_82 : tensor<1xui32>
    %bit_or_144 = stablehlo.or %shift_left_143, %shift_right_142 : tensor<1xui32>
    %bit_xor_145 = stablehlo.xor %bit_or_144, %add_141 : tensor<1xui32>
    %add_146 = stablehlo.add %add_141, %bit_xor_145 : tensor<1xui32>
    %shift_right_147 = stablehlo.shift_right_logical %bit_xor_145, %constant_82 : tensor<1xui32>
    %shift_left_148 = stablehlo.shift_left %bit_xor_145, %constant_79 : tensor<1xui32>
    %bit_or_149 = stablehlo.or %shift_left_148, %shift_right_147 : tensor<1xui32>
    %bit_xor_150 = stablehlo.xor %bit_or_149, %add_146 : tensor<1xui32>
    %add_151 = stablehlo.add %add_146, %broadcast_49 : tensor<1xui32>
    %add_152 = stablehlo.add %bit_xor_150, %broadcast_52 : tensor<1xui32>
    %add_153 = stablehlo.add %add_152, %constant_103 : tensor<1xui32>
    %add_154 = stablehlo.add %add_151, %add_153 : tensor<1xui32>
    %shift_right_155 = stablehlo.shift_right_logical %add_153, %constant_73 : tensor<1xui32>
    %shift_left_156 = stablehlo.shift_left %add_153, %constant_70 : tensor<1xui32>
    %bit_or_157 = stablehlo.or %shift_left_156, %shift_right_155 : tensor<1xui32>
    %bit_xor_158 = stablehlo.xor %bit_or_157, %add_154 : tensor<1xui32>
    %add_159 = stablehlo.add %add_154, %bit_xor_158 : tensor<1xui32>
    %shift_right_160 = stablehlo.shift_right_logical %bit_xor_158, %constant_103 : tensor<1xui32>
    %shift_left_161 = stablehlo.shift_left %bit_xor_158, %constant_106 : tensor<1xui32>
    %bit_or_162 = stablehlo.or %shift_left_161, %shift_right_160 : tensor<1xui32>
    %bit_xor_163 = stablehlo.xor %bit_or_162, %add_159 : tensor<1xui32>
    %add_164 = stablehlo.add %add_159, %bit_xor_163 : tensor<1xui32>
    %shift_right_165 = stablehlo.shift_right_logical %bit_xor_163, %constant_112 : tensor<1xui32>
    %shift_left_166 = stablehlo.shift_left %bit_xor_163, %constant_112 : tensor<1xui32>
    %bit_or_167 = stablehlo.or %shift_left_166, %shift_right_165 : tensor<1xui32>
    %bit_xor_168 = stablehlo.xor %bit_or_167, %add_164 : tensor<1xui32>
    %add_169 = stablehlo.add %add_164, %bit_xor_168 : tensor<1xui32>
    %shift_right_170 = stablehlo.shift_right_logical %bit_xor_168, %constant_119 : tensor<1xui32>
    %shift_left_171 = stablehlo.shift_left %bit_xor_168, %constant_122 : tensor<1xui32>
    %bit_or_172 = stablehlo.or %shift_left_171, %shift_right_170 : tensor<1xui32>
    %bit_xor_173 = stablehlo.xor %bit_or_172, %add_169 : tensor<1xui32>
    %add_174 = stablehlo.add %add_169, %broadcast_52 : tensor<1xui32>
    %constant_175 = stablehlo.constant dense<4> : tensor<ui32>
    %constant_176 = stablehlo.broadcast_in_dim %constant_175, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_177 = stablehlo.add %bit_xor_173, %bit_xor_56 : tensor<1xui32>
    %add_178 = stablehlo.add %add_177, %constant_176 : tensor<1xui32>
    %add_179 = stablehlo.add %add_174, %add_178 : tensor<1xui32>
    %shift_right_180 = stablehlo.shift_right_logical %add_178, %constant_61 : tensor<1xui32>
    %shift_left_181 = stablehlo.shift_left %add_178, %constant_64 : tensor<1xui32>
    %bit_or_182 = stablehlo.or %shift_left_181, %shift_right_180 : tensor<1xui32>
    %bit_xor_183 = stablehlo.xor %bit_or_182, %add_179 : tensor<1xui32>
    %add_184 = stablehlo.add %add_179, %bit_xor_183 : tensor<1xui32>
    %shift_right_185 = stablehlo.shift_right_logical %bit_xor_183, %constant_70 : tensor<1xui32>
    %shift_left_186 = stablehlo.shift_left %bit_xor_183, %constant_73 : tensor<1xui32>
    %bit_or_187 = stablehlo.or %shift_left_186, %shift_right_185 : tensor<1xui32>
    %bit_xor_188 = stablehlo.xor %bit_or_187, %add_184 : tensor<1xui32>
    %add_189 = stablehlo.add %add_184, %bit_xor_188 : tensor<1xui32>
    %shift_right_190 = stablehlo.shift_right_logical %bit_xor_188, %constant_79 : tensor<1xui32>
    %shift_left_191 = stablehlo.shift_left %bit_xor_188, %constant_82 : tensor<1xui32>
    %bit_or_192 = stablehlo.or %shift_left_191, %shift_right_190 : tensor<1xui32>
    %bit_xor_193 = stablehlo.xor %bit_or_192, %add_189 : tensor<1xui32>
    %add_194 = stablehlo.add %add_189, %bit_xor_193 : tensor<1xui32>
    %shift_right_195 = stablehlo.shift_right_logical %bit_xor_193, %constant_82 : tensor<1xui32>
    %shift_left_196 = stablehlo.shift_left %bit_xor_193, %constant_79 : tensor<1xui32>
    %bit_or_197 = stablehlo.or %shift_left_196, %shift_right_195 : tensor<1xui32>
    %bit_xor_198 = stablehlo.xor %bit_or_197, %add_194 : tensor<1xui32>
    %add_199 = stablehlo.add %add_194, %bit_xor_56 : tensor<1xui32>
    %constant_200 = stablehlo.constant dense<5> : tensor<ui32>
    %constant_201 = stablehlo.broadcast_in_dim %constant_200, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_202 = stablehlo.add %bit_xor_198, %broadcast_49 : tensor<1xui32>
    %add_203 = stablehlo.add %add_202, %constant_201 : tensor<1xui32>
    %reshape_204 = stablehlo.reshape %add_199 : (tensor<1xui32>) -> tensor<1x1xui32>
    %reshape_205 = stablehlo.reshape %add_203 : (tensor<1xui32>) -> tensor<1x1xui32>
    %concat_206 = stablehlo.concatenate %reshape_204, %reshape_205, dim = 1 : (tensor<1x1xui32>, tensor<1x1xui32>) -> tensor<1x2xui32>
    %slice_207 = stablehlo.slice %concat_206 [0:1, 0:2] : (tensor<1x2xui32>) -> tensor<1x2xui32>
    %reshape_208 = stablehlo.reshape %slice_207 : (tensor<1x2xui32>) -> tensor<2xui32>
    %replica_id_209 = stablehlo.replica_id : tensor<ui32>
    %constant_210 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_211 = stablehlo.constant dense<0> : tensor<ui32>
    %mul_212 = stablehlo.multiply %replica_id_209, %constant_211 : tensor<ui32>
    %constant_213 = stablehlo.constant dense<32> : tensor<ui32>
    %mul_214 = stablehlo.multiply %replica_id_209, %constant_213 : tensor<ui32>
    %shift_left_215 = stablehlo.shift_left %mul_212, %constant_210 : tensor<ui32>
    %add_216 = stablehlo.add %shift_left_215, %mul_214 : tensor<ui32>
    %compare_217 = stablehlo.compare LT, %add_216, %mul_214, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %convert_218 = stablehlo.convert %compare_217 : (tensor<i1>) -> tensor<ui32>
    %shift_right_219 = stablehlo.shift_right_logical %mul_212, %constant_210 : tensor<ui32>
    %add_220 = stablehlo.add %shift_right_219, %convert_218 : tensor<ui32>
    %iota_221 = stablehlo.iota dim = 0 : tensor<32xui32>
    %broadcast_222 = stablehlo.broadcast_in_dim %add_216, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_223 = stablehlo.add %iota_221, %broadcast_222 : tensor<32xui32>
    %compare_224 = stablehlo.compare LT, %add_223, %broadcast_222, UNSIGNED : (tensor<32xui32>, tensor<32xui32>) -> tensor<32xi1>
    %convert_225 = stablehlo.convert %compare_224 : (tensor<32xi1>) -> tensor<32xui32>
    %broadcast_226 = stablehlo.broadcast_in_dim %add_220, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_227 = stablehlo.add %convert_225, %broadcast_226 : tensor<32xui32>
    %slice_228 = stablehlo.slice %reshape_208 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_229 = stablehlo.reshape %slice_228 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_230 = stablehlo.broadcast_in_dim %reshape_229, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %slice_231 = stablehlo.slice %reshape_208 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_232 = stablehlo.reshape %slice_231 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_233 = stablehlo.broadcast_in_dim %reshape_232, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %constant_234 = stablehlo.constant dense<466688986> : tensor<ui32>
    %constant_235 = stablehlo.broadcast_in_dim %constant_234, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %bit_xor_236 = stablehlo.xor %broadcast_230, %broadcast_233 : tensor<32xui32>
    %bit_xor_237 = stablehlo.xor %bit_xor_236, %constant_235 : tensor<32xui32>
    %add_238 = stablehlo.add %add_227, %broadcast_230 : tensor<32xui32>
    %add_239 = stablehlo.add %add_223, %broadcast_233 : tensor<32xui32>
    %add_240 = stablehlo.add %add_238, %add_239 : tensor<32xui32>
    %constant_241 = stablehlo.constant dense<19> : tensor<ui32>
    %constant_242 = stablehlo.broadcast_in_dim %constant_241, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_243 = stablehlo.shift_right_logical %add_239, %constant_242 : tensor<32xui32>
    %constant_244 = stablehlo.constant dense<13> : tensor<ui32>
    %constant_245 = stablehlo.broadcast_in_dim %constant_244, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_246 = stablehlo.shift_left %add_239, %constant_245 : tensor<32xui32>
    %bit_or_247 = stablehlo.or %shift_left_246, %shift_right_243 : tensor<32xui32>
    %bit_xor_248 = stablehlo.xor %bit_or_247, %add_240 : tensor<32xui32>
    %add_249 = stablehlo.add %add_240, %bit_xor_248 : tensor<32xui32>
    %constant_250 = stablehlo.constant dense<17> : tensor<ui32>
    %constant_251 = stablehlo.broadcast_in_dim %constant_250, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_252 = stablehlo.shift_right_logical %bit_xor_248, %constant_251 : tensor<32xui32>
    %constant_253 = stablehlo.constant dense<15> : tensor<ui32>
    %constant_254 = stablehlo.broadcast_in_dim %constant_253, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_255 = stablehlo.shift_left %bit_xor_248, %constant_254 : tensor<32xui32>
    %bit_or_256 = stablehlo.or %shift_left_255, %shift_right_252 : tensor<32xui32>
    %bit_xor_257 = stablehlo.xor %bit_or_256, %add_249 : tensor<32xui32>
    %add_258 = stablehlo.add %add_249, %bit_xor_257 : tensor<32xui32>
    %constant_259 = stablehlo.constant dense<6> : tensor<ui32>
    %constant_260 = stablehlo.broadcast_in_dim %constant_259, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_261 = stablehlo.shift_right_logical %bit_xor_257, %constant_260 : tensor<32xui32>
    %constant_262 = stablehlo.constant dense<26> : tensor<ui32>
    %constant_263 = stablehlo.broadcast_in_dim %constant_262, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_264 = stablehlo.shift_left %bit_xor_257, %constant_263 : tensor<32xui32>
    %bit_or_265 = stablehlo.or %shift_left_264, %shift_right_261 : tensor<32xui32>
    %bit_xor_266 = stablehlo.xor %bit_or_265, %add_258 : tensor<32xui32>
    %add_267 = stablehlo.add %add_258, %bit_xor_266 : tensor<32xui32>
    %shift_right_268 = stablehlo.shift_right_logical %bit_xor_266, %constant_263 : tensor<32xui32>
    %shift_left_269 = stablehlo.shift_left %bit_xor_266, %constant_260 : tensor<32xui32>
    %bit_or_270 = stablehlo.or %shift_left_269, %shift_right_268 : tensor<32xui32>
    %bit_xor_271 = stablehlo.xor %bit_or_270, %add_267 : tensor<32xui32>
    %add_272 = stablehlo.add %add_267, %broadcast_233 : tensor<32xui32>
    %constant_273 = stablehlo.constant dense<1> : tensor<ui32>
    %constant_274 = stablehlo.broadcast_in_dim %constant_273, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_275 = stablehlo.add %bit_xor_271, %bit_xor_237 : tensor<32xui32>
    %add_276 = stablehlo.add %add_275, %constant_274 : tensor<32xui32>
    %add_277 = stablehlo.add %add_272, %add_276 : tensor<32xui32>
    %shift_right_278 = stablehlo.shift_right_logical %add_276, %constant_254 : tensor<32xui32>
    %shift_left_279 = stablehlo.shift_left %add_276, %constant_251 : tensor<32xui32>
    %bit_or_280 = stablehlo.or %shift_left_279, %shift_right_278 : tensor<32xui32>
    %bit_xor_281 = stablehlo.xor %bit_or_280, %add_277 : tensor<32xui32>
    %add_282 = stablehlo.add %add_277, %bit_xor_281 : tensor<32xui32>
    %constant_283 = stablehlo.constant dense<3> : tensor<ui32>
    %constant_284 = stablehlo.broadcast_in_dim %constant_283, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_285 = stablehlo.shift_right_logical %bit_xor_281, %constant_284 : tensor<32xui32>
    %constant_286 = stablehlo.constant dense<29> : tensor<ui32>
    %constant_287 = stablehlo.broadcast_in_dim %constant_286, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_288 = stablehlo.shift_left %bit_xor_281, %constant_287 : tensor<32xui32>
    %bit_or_289 = stablehlo.or %shift_left_288, %shift_right_285 : tensor<32xui32>
    %bit_xor_290 = stablehlo.xor %bit_or_289, %add_282 : tensor<32xui32>
    %add_291 = stablehlo.add %add_282, %bit_xor_290 : tensor<32xui32>
    %constant_292 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_293 = stablehlo.broadcast_in_dim %constant_292, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_294 = stablehlo.shift_right_logical %bit_xor_290, %constant_293 : tensor<32xui32>
    %shift_left_295 = stablehlo.shift_left %bit_xor_290, %constant_293 : tensor<32xui32>
    %bit_or_296 = stablehlo.or %shift_left_295, %shift_right_294 : tensor<32xui32>
    %bit_xor_297 = stablehlo.xor %bit_or_296, %add_291 : tensor<32xui32>
    %add_298 = stablehlo.add %add_291, %bit_xor_297 : tensor<32xui32>
    %constant_299 = stablehlo.constant dense<8> : tensor<ui32>
    %constant_300 = stablehlo.broadcast_in_dim %constant_299, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_301 = stablehlo.shift_right_logical %bit_xor_297, %constant_300 : tensor<32xui32>
    %constant_302 = stablehlo.constant dense<24> : tensor<ui32>
    %constant_303 = stablehlo.broadcast_in_dim %constant_302, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_304 = stablehlo.shift_left %bit_xor_297, %constant_303 : tensor<32xui32>
    %bit_or_305 = stablehlo.or %shift_left_304, %shift_right_301 : tensor<32xui32>
    %bit_xor_306 = stablehlo.xor %bit_or_305, %add_298 : tensor<32xui32>
    %add_307 = stablehlo.add %add_298, %bit_xor_237 : tensor<32xui32>
    %constant_308 = stablehlo.constant dense<2> : tensor<ui32>
    %constant_309 = stablehlo.broadcast_in_dim %constant_308, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_310 = stablehlo.add %bit_xor_306, %broadcast_230 : tensor<32xui32>
    %add_311 = stablehlo.add %add_310, %constant_309 : tensor<32xui32>
    %add_312 = stablehlo.add %add_307, %add_311 : tensor<32xui32>
    %shift_right_313 = stablehlo.shift_right_logical %add_311, %constant_242 : tensor<32xui32>
    %shift_left_314 = stablehlo.shift_left %add_311, %constant_245 : tensor<32xui32>
    %bit_or_315 = stablehlo.or %shift_left_314, %shift_right_313 : tensor<32xui32>
    %bit_xor_316 = stablehlo.xor %bit_or_315, %add_312 : tensor<32xui32>
    %add_317 = stablehlo.add %add_312, %bit_xor_316 : tensor<32xui32>
    %shift_right_318 = stablehlo.shift_right_logical %bit_xor_316, %constant_251 : tensor<32xui32>
    %shift_left_319 = stablehlo.shift_left %bit_xor_316, %constant_254 : tensor<32xui32>
    %bit_or_320 = stablehlo.or %shift_left_319, %shift_right_318 : tensor<32xui32>
    %bit_xor_321 = stablehlo.xor %bit_or_320, %add_317 : tensor<32xui32>
    %add_322 = stablehlo.add %add_317, %bit_xor_321 : tensor<32xui32>
    %shift_right_323 = stablehlo.shift_right_logical %bit_xor_321, %constant_260 : tensor<32xui32>
    %shift_left_324 = stablehlo.shift_left %bit_xor_321, %constant_263 : tensor<32xui32>
    %bit_or_325 = stablehlo.or %shift_left_324, %shift_right_323 : tensor<32xui32>
    %bit_xor_326 = stablehlo.xor %bit_or_325, %add_322 : tensor<32xui32>
    %add_327 = stablehlo.add %add_322, %bit_xor_326 : tensor<32xui32>
    %shift_right_328 = stablehlo.shift_right_logical %bit_xor_326, %constant_263 : tensor<32xui32>
    %shift_left_329 = stablehlo.shift_left %bit_xor_326, %constant_260 : tensor<32xui32>
    %bit_or_330 = stablehlo.or %shift_left_329, %shift_right_328 : tensor<32xui32>
    %bit_xor_331 = stablehlo.xor %bit_or_330, %add_327 : tensor<32xui32>
    %add_332 = stablehlo.add %add_327, %broadcast_230 : tensor<32xui32>
    %add_333 = stablehlo.add %bit_xor_331, %broadcast_233 : tensor<32xui32>
    %add_334 = stablehlo.add %add_333, %constant_284 : tensor<32xui32>
    %add_335 = stablehlo.add %add_332, %add_334 : tensor<32xui32>
    %shift_right_336 = stablehlo.shift_right_logical %add_334, %constant_254 : tensor<32xui32>
    %shift_left_337 = stablehlo.shift_left %add_334, %constant_251 : tensor<32xui32>
    %bit_or_338 = stablehlo.or %shift_left_337, %shift_right_336 : tensor<32xui32>
    %bit_xor_339 = stablehlo.xor %bit_or_338, %add_335 : tensor<32xui32>
    %add_340 = stablehlo.add %add_335, %bit_xor_339 : tensor<32xui32>
    %shift_right_341 = stablehlo.shift_right_logical %bit_xor_339, %constant_284 : tensor<32xui32>
    %shift_left_342 = stablehlo.shift_left %bit_xor_339, %constant_287 : tensor<32xui32>
    %bit_or_343 = stablehlo.or %shift_left_342, %shift_right_341 : tensor<32xui32>
    %bit_xor_344 = stablehlo.xor %bit_or_343, %add_340 : tensor<32xui32>
    %add_345 = stablehlo.add %add_340, %bit_xor_344 : tensor<32xui32>
    %shift_right_346 = stablehlo.shift_right_logical %bit_xor_344, %constant_293 : tensor<32xui32>
    %shift_left_347 = stablehlo.shift_left %bit_xor_344, %constant_293 : tensor<32xui32>
    %bit_or_348 = stablehlo.or %shift_left_347, %shift_right_346 : tensor<32xui32>
    %bit_xor_349 = stablehlo.xor %bit_or_348, %add_345 : tensor<32xui32>
    %add_350 = stablehlo.add %add_345, %bit_xor_349 : tensor<32xui32>
    %shift_right_351 = stablehlo.shift_right_logical %bit_xor_349, %constant_300 : tensor<32xui32>
    %shift_left_352 = stablehlo.shift_left %bit_xor_349, %constant_303 : tensor<32xui32>
    %bit_or_353 = stablehlo.or %shift_left_352, %shift_right_351 : tensor<32xui32>
    %bit_xor_354 = stablehlo.xor %bit_or_353, %add_350 : tensor<32xui32>
    %add_355 = stablehlo.add %add_350, %broadcast_233 : tensor<32xui32>
    %constant_356 = stablehlo.constant dense<4> : tensor<ui32>
    %constant_357 = stablehlo.broadcast_in_dim %constant_356, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_358 = stablehlo.add %bit_xor_354, %bit_xor_237 : tensor<32xui32>
    %add_359 = stablehlo.add %add_358, %constant_357 : tensor<32xui32>
    %add_360 = stablehlo.add %add_355, %add_359 : tensor<32xui32>
    %shift_right_361 = stablehlo.shift_right_logical %add_359, %constant_242 : tensor<32xui32>
    %shift_left_362 = stablehlo.shift_left %add_359, %constant_245 : tensor<32xui32>
    %bit_or_363 = stablehlo.or %shift_left_362, %shift_right_361 : tensor<32xui32>
    %bit_xor_364 = stablehlo.xor %bit_or_363, %add_360 : tensor<32xui32>
    %add_365 = stablehlo.add %add_360, %bit_xor_364 : tensor<32xui32>
    %shift_right_366 = stablehlo.shift_right_logical %bit_xor_364, %constant_251 : tensor<32xui32>
    %shift_left_367 = stablehlo.shift_left %bit_xor_364, %constant_254 : tensor<32xui32>
    %bit_or_368 = stablehlo.or %shift_left_367, %shift_right_366 : tensor<32xui32>
    %bit_xor_369 = stablehlo.xor %bit_or_368, %add_365 : tensor<32xui32>
    %add_370 = stablehlo.add %add_365, %bit_xor_369 : tensor<32xui32>
    %shift_right_371 = stablehlo.shift_right_logical %bit_xor_369, %constant_260 : tensor<32xui32>
    %shift_left_372 = stablehlo.shift_left %bit_xor_369, %constant_263 : tensor<32xui32>
    %bit_or_373 = stablehlo.or %shift_left_372, %shift_right_371 : tensor<32xui32>
    %bit_xor_374 = stablehlo.xor %bit_or_373, %add_370 : tensor<32xui32>
    %add_375 = stablehlo.add %add_370, %bit_xor_374 : tensor<32xui32>
    %shift_right_376 = stablehlo.shift_right_logical %bit_xor_374, %constant_263 : tensor<32xui32>
    %shift_left_377 = stablehlo.shift_left %bit_xor_374, %constant_260 : tensor<32xui32>
    %bit_or_378 = stablehlo.or %shift_left_377, %shift_right_376 : tensor<32xui32>
    %bit_xor_379 = stablehlo.xor %bit_or_378, %add_375 : tensor<32xui32>
    %add_380 = stablehlo.add %add_375, %bit_xor_237 : tensor<32xui32>
    %constant_381 = stablehlo.constant dense<5> : tensor<ui32>
    %constant_382 = stablehlo.broadcast_in_dim %constant_381, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_383 = stablehlo.add %bit_xor_379, %broadcast_230 : tensor<32xui32>
    %add_384 = stablehlo.add %add_383, %constant_382 : tensor<32xui32>
    %bit_xor_385 = stablehlo.xor %add_380, %add_384 : tensor<32xui32>
    %reshape_386 = stablehlo.reshape %bit_xor_385 : (tensor<32xui32>) -> tensor<1x2x4x4xui32>
    %constant_387 = stablehlo.constant dense<9> : tensor<ui32>
    %constant_388 = stablehlo.broadcast_in_dim %constant_387, dims = [] : (tensor<ui32>) -> tensor<1x2x4x4xui32>
    %shift_right_389 = stablehlo.shift_right_logical %reshape_386, %constant_388 : tensor<1x2x4x4xui32>
    %convert_390 = stablehlo.convert %shift_right_389 : (tensor<1x2x4x4xui32>) -> tensor<1x2x4x4xf32>
    %constant_391 = stablehlo.constant dense<0x34000000> : tensor<f32>
    %constant_392 = stablehlo.broadcast_in_dim %constant_391, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_393 = stablehlo.multiply %convert_390, %constant_392 : tensor<1x2x4x4xf32>
    %constant_394 = stablehlo.constant dense<0x3F666666> : tensor<f32>
    %constant_395 = stablehlo.broadcast_in_dim %constant_394, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %compare_396 = stablehlo.compare LT, %mul_393, %constant_395, FLOAT : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi1>
    %keep_397 = stablehlo.optimization_barrier %compare_396 : tensor<1x2x4x4xi1>
    %constant_398 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_399 = stablehlo.broadcast_in_dim %constant_398, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %constant_400 = stablehlo.constant dense<0x3F8E38E4> : tensor<f32>
    %constant_401 = stablehlo.broadcast_in_dim %constant_400, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_402 = stablehlo.multiply %div_42, %constant_401 : tensor<1x2x4x4xf32>
    %select_403 = stablehlo.select %keep_397, %mul_402, %constant_399 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %dot_404 = stablehlo.convert %select_403 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_405 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_406 = stablehlo.dot_general %dot_404, %dot_405, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %transpose_407 = stablehlo.transpose %dot_406, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_408 = stablehlo.reshape %transpose_407 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %constant_409 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %broadcast_410 = stablehlo.broadcast_in_dim %constant_409, dims = [] : (tensor<f32>) -> tensor<1x4x4xf32>
    %keep_411 = stablehlo.convert %reshape_408 : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
    %keep_412 = stablehlo.optimization_barrier %keep_411 : tensor<1x4x4xbf16>
    %keep_413 = stablehlo.convert %keep_412 : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
    %barrier_414:7 = stablehlo.optimization_barrier %arg0_x, %arg0_x, %arg0_x, %arg1_mask, %keep_413, %add_44, %broadcast_410 : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4xi32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x4x4xf32>
    %reshape_415 = stablehlo.reshape %barrier_414#0 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_416 = stablehlo.transpose %reshape_415, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_417 = stablehlo.reshape %barrier_414#1 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_418 = stablehlo.transpose %reshape_417, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_419 = stablehlo.reshape %barrier_414#2 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_420 = stablehlo.transpose %reshape_419, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_421 = stablehlo.reshape %barrier_414#4 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_422 = stablehlo.transpose %reshape_421, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_423 = stablehlo.reshape %barrier_414#6 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_424 = stablehlo.transpose %reshape_423, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %dot_425 = stablehlo.convert %transpose_416 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_426 = stablehlo.convert %transpose_418 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_427 = stablehlo.dot_general %dot_425, %dot_426, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %mul_428 = stablehlo.multiply %dot_427, %constant_7 : tensor<1x2x4x4xf32>
    %convert_429 = stablehlo.convert %barrier_414#3 : (tensor<1x4xi32>) -> tensor<1x4xf32>
    %sub_430 = stablehlo.subtract %constant_11, %convert_429 : tensor<1x4xf32>
    %mul_431 = stablehlo.multiply %sub_430, %constant_14 : tensor<1x4xf32>
    %reshape_432 = stablehlo.reshape %mul_431 : (tensor<1x4xf32>) -> tensor<1x1x1x4xf32>
    %reshape_433 = stablehlo.reshape %reshape_432 : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
    %broadcast_434 = stablehlo.broadcast_in_dim %reshape_433, dims = [0, 3] : (tensor<1x4xf32>) -> tensor<1x2x4x4xf32>
    %add_435 = stablehlo.add %mul_428, %broadcast_434 : tensor<1x2x4x4xf32>
    %add_436 = stablehlo.add %add_435, %broadcast_28 : tensor<1x2x4x4xf32>
    %reshape_437 = stablehlo.reshape %barrier_414#5 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_438 = stablehlo.reshape %reshape_437 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_439 = stablehlo.broadcast_in_dim %reshape_438, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_440 = stablehlo.subtract %add_436, %broadcast_439 : tensor<1x2x4x4xf32>
    %exp_441 = stablehlo.exponential %sub_440 : tensor<1x2x4x4xf32>
    %mul_442 = stablehlo.multiply %transpose_422, %transpose_424 : tensor<1x2x4x2xf32>
    %reduce_sum_443 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_444 = stablehlo.reduce(%mul_442 init: %reduce_sum_443) applies stablehlo.add across dimensions = [3] : (tensor<1x2x4x2xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_445 = stablehlo.reshape %reduce_sum_444 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %dot_446 = stablehlo.convert %transpose_424 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_447 = stablehlo.convert %transpose_420 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_448 = stablehlo.dot_general %dot_446, %dot_447, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %mul_449 = stablehlo.multiply %dot_448, %constant_401 : tensor<1x2x4x4xf32>
    %select_450 = stablehlo.select %keep_397, %mul_449, %constant_399 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %reshape_451 = stablehlo.reshape %reshape_445 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_452 = stablehlo.broadcast_in_dim %reshape_451, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_453 = stablehlo.subtract %select_450, %broadcast_452 : tensor<1x2x4x4xf32>
    %constant_454 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_455 = stablehlo.broadcast_in_dim %constant_454, dims = [] : (tensor<f32>) -> tensor<1x2x4x2xf32>
    %mul_456 = stablehlo.multiply %exp_441, %sub_453 : tensor<1x2x4x4xf32>
    %dot_457 = stablehlo.convert %mul_456 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_458 = stablehlo.convert %transpose_418 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_459 = stablehlo.dot_general %dot_457, %dot_458, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %mul_460 = stablehlo.multiply %dot_459, %constant_455 : tensor<1x2x4x2xf32>
    %transpose_461 = stablehlo.transpose %mul_460, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_462 = stablehlo.reshape %transpose_461 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %dot_463 = stablehlo.convert %mul_456 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_464 = stablehlo.convert %transpose_416 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_465 = stablehlo.dot_general %dot_463, %dot_464, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %mul_466 = stablehlo.multiply %dot_465, %constant_455 : tensor<1x2x4x2xf32>
    %transpose_467 = stablehlo.transpose %mul_466, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_468 = stablehlo.reshape %transpose_467 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %mul_469 = stablehlo.multiply %exp_441, %constant_401 : tensor<1x2x4x4xf32>
    %select_470 = stablehlo.select %keep_397, %mul_469, %constant_399 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %dot_471 = stablehlo.convert %select_470 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_472 = stablehlo.convert %transpose_424 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_473 = stablehlo.dot_general %dot_471, %dot_472, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %transpose_474 = stablehlo.transpose %dot_473, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_475 = stablehlo.reshape %transpose_474 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %add_476 = stablehlo.add %reshape_462, %reshape_468 : tensor<1x4x4xf32>
    %add_477 = stablehlo.add %add_476, %reshape_475 : tensor<1x4x4xf32>
    %all_reduce_478 = "stablehlo.all_reduce"(%add_477) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 478, type = 0>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    return %all_reduce_478 : tensor<1x4x4xf32>
  }
}
