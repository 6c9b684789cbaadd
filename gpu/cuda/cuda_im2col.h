#ifndef PACELINE_GPU_CUDA_CUDA_IM2COL_H_
#define PACELINE_GPU_CUDA_CUDA_IM2COL_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/shapes.h"

namespace paceline {

// Samples [begin, end) of a batch.
struct SampleRows {
  int64_t begin = 0;
  int64_t end = 0;
};

// As their twins in gpu/cpu/im2col.h, but for whole samples: columns
// [patch(), (end - begin) * out_height() * out_width()]. The second overwrites
// dx of those samples, and adds in a fixed order.
void Im2ColOnDevice(const ConvShape& shape, SampleRows samples, const float* x,
                    float* columns, cudaStream_t stream);
void Col2ImOnDevice(const ConvShape& shape, SampleRows samples,
                    const float* columns, float* dx, cudaStream_t stream);

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_IM2COL_H_
