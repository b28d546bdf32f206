#include <array>

#include "cli/lab/lab.h"

namespace headlight::cli::lab {

std::span<const Experiment> experiments() {
  static constexpr std::array kExperiments{
      Experiment{"scaling",
                 {"Why scores are divided by the root of d_k", "점수를 √d_k로 나누는 까닭"},
                 run_scaling},
      Experiment{"masks",
                 {"Causal and padding masks, and a row with nothing to see",
                  "인과 마스크와 패딩 마스크, 그리고 볼 것이 하나도 없는 행"},
                 run_masks},
      Experiment{"worked-example",
                 {"Every number of a small attention layer, step by step",
                  "작은 어텐션 층의 모든 숫자를 한 단계씩"},
                 run_worked_example},
      Experiment{"shapes",
                 {"A padded batch through multi-head attention: shapes and values",
                  "패딩된 배치가 멀티 헤드 어텐션을 지나는 과정: 형태와 값"},
                 run_shapes},
      Experiment{"norms",
                 {"LayerNorm and BatchNorm of the same numbers",
                  "같은 숫자에 적용한 LayerNorm과 BatchNorm"},
                 run_norms},
      Experiment{"pre-post-ln",
                 {"LayerNorm before or after: gradients and training without warm-up",
                  "LayerNorm을 앞에 둘 때와 뒤에 둘 때: 기울기와 웜업 없는 학습"},
                 run_pre_post_ln},
      Experiment{"heads",
                 {"The same width in 1 to 64 heads", "같은 차원을 1개에서 64개의 헤드로 나누기"},
                 run_heads},
      Experiment{"single-vs-multi",
                 {"One head against many with equally many parameters",
                  "파라미터 수가 같은 한 개의 헤드와 여러 개의 헤드"},
                 run_single_vs_multi},
      Experiment{"induction",
                 {"A whole investigation: how a model repeats what it has read",
                  "처음부터 끝까지 한 번의 탐구: 모델이 읽은 것을 되풀이하는 방법"},
                 run_induction,
                 true},
      Experiment{
          "params",
          {"4 d² + 4 d against parameters counted one by one", "4d² + 4d와 직접 센 파라미터 수"},
          run_params},
  };
  return kExperiments;
}

}  // namespace headlight::cli::lab
