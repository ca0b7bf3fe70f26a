//===- NearestName.cpp - What the user may have meant ---------------------===//
#include "zero/Runtime/Base/NearestName.h"
#include <algorithm>
#include <numeric>

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row.back();
}

std::string zero::nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = SIZE_MAX;
  for (const std::string &candidate : candidates)
    if (size_t distance = editDistance(name, candidate); distance < bestDistance)
      best = candidate, bestDistance = distance;
  return best;
}
