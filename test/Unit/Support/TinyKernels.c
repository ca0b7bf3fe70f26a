/* The generated kernels of TinyPlan.h, in the ABI of generated kernels. */
#include <math.h>
#include <stdint.h>

/* Items, slices and the bytes of each: 64 elements a rank, however many ranks there are. */
extern const int64_t hold_back_takes[], descend_takes[];
const int64_t hold_back_takes[] = {1, 4, 4, 4, 4, 4};
const int64_t descend_takes[] = {64, 5, 256, 256, 4, 4, 256};

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
