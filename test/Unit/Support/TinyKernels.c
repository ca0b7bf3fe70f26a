/* The generated kernels of TinyPlan.h, in the ABI of generated kernels. */
#include <math.h>
#include <stdint.h>

void hold_back(void *const *pointers, int64_t begin, int64_t end);
void descend(void *const *pointers, int64_t begin, int64_t end);

void hold_back(void *const *pointers, int64_t begin, int64_t end) {
  const float *loss = pointers[0], *norm = pointers[1], *skips = pointers[2];
  float *skipped = pointers[3];
  (void)begin, (void)end;
  *skipped = isfinite(*loss) && isfinite(*norm) ? 0 : *skips;
}

void descend(void *const *pointers, int64_t begin, int64_t end) {
  const float *weights = pointers[0], *gradient = pointers[1], *rate = pointers[2], *skipped = pointers[3];
  float *updated = pointers[4];
  for (int64_t i = begin; i < end; ++i)
    updated[i] = *skipped != 0 ? weights[i] : weights[i] - rate[0] * gradient[i];
}
