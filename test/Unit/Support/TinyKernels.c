/* The generated kernel of TinyPlan.h, in the ABI of generated kernels. */
#include <stdint.h>

void descend(void *const *pointers, int64_t begin, int64_t end);

void descend(void *const *pointers, int64_t begin, int64_t end) {
  const float *weights = pointers[0], *gradient = pointers[1], *rate = pointers[2];
  float *updated = pointers[3];
  for (int64_t i = begin; i < end; ++i)
    updated[i] = weights[i] - rate[0] * gradient[i];
}
