#ifndef PACELINE_GPU_CPU_IM2COL_H_
#define PACELINE_GPU_CPU_IM2COL_H_

#include <cstdint>

#include "gpu/shapes.h"

namespace paceline {

// Rows [begin, end) of the output image, counted over all samples of a batch
// (0 <= begin <= end <= ConvShape::out_rows()).
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The patches that the output pixels of `rows` see, one column each: columns
// [patch(), (end - begin) * out_width()], zeros where a patch leaves the image.
void Im2Col(const ConvShape& shape, RowRange rows, const float* x,
            float* columns);

// The transpose of Im2Col: adds every element of the columns to the pixel of
// dx that it came from. Those that came from padding are lost, in the columns
// too.
void Col2Im(const ConvShape& shape, RowRange rows, float* columns, float* dx);

}  // namespace paceline

#endif  // PACELINE_GPU_CPU_IM2COL_H_
