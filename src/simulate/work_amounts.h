#pragma once

#include "simulate/plant.h"

namespace eroica {

/// How much there is to do in one micro-batch, as factors of the usual.
struct Amount {
  double tokens = 1;     ///< or images
  double attention = 1;  ///< grows faster than the tokens with the length of sequences
};
Amount amount_of(const Plant& plant, int rank, int step, int micro_batch);

/// Share of the usual number of tokens that this rank's experts get in this layer.
double expert_share(const Plant& plant, int rank, int step, int micro_batch, int layer);

}  // namespace eroica
