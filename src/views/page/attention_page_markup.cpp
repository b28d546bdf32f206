#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kMarkup = R"html(<div class="controls">
<div class="legend" role="img" aria-label="Colour scale of the attention weight, from 0 to 1">
<canvas id="legend" width="256" height="1"></canvas><div id="ticks"></div></div>
<div class="segmented" role="group" aria-label="Colour scale">
<button type="button" id="linear">Linear</button>
<button type="button" id="root">Square root</button></div>
<button type="button" id="hide-first" class="switch" aria-pressed="false"
 title="Many heads rest on the first token when they have nothing to find">Hide first token</button>
</div>
<p id="note" role="status" hidden><b>First token hidden.</b> The other weights of each row are
rescaled to sum to 1; rows that leave it less than 0.001 stay blank.</p>
</header>
<noscript><p class="hint">This page draws its heat maps with JavaScript, which is switched off
here.</p></noscript>
<div class="choices">
<div class="tabs" role="tablist" aria-label="Views">
<button type="button" role="tab" id="tab-model" aria-controls="stage">Model view</button>
<button type="button" role="tab" id="tab-head" aria-controls="stage">Head view</button>
<button type="button" role="tab" id="tab-neuron" aria-controls="stage">Neuron view</button>
<button type="button" role="tab" id="tab-grid" aria-controls="stage">Grid</button></div>
<div id="pickers" hidden>
<label class="picker">Document <select id="document"></select></label>
<label class="picker">Beside it <select id="beside"><option value="-1">none</option></select></label>
</div>
</div>
<main>
<div class="bar" id="tools" hidden></div>
<div id="stage" role="tabpanel"></div>
<p class="hint" id="hint"></p>
</main>
<footer>
<p class="keys"><kbd>1</kbd>–<kbd>4</kbd> switch views, <kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd>
<kbd>↓</kbd> move between heads, <kbd>Enter</kbd> opens one, <kbd>Esc</kbd> closes it. In the
text, the arrows choose a token.</p>
<p id="precision"></p>
</footer>
<div id="tip" aria-hidden="true" hidden></div>
<p id="status" class="unseen" role="status"></p>
)html";

}  // namespace

std::string_view attention_page_markup() { return kMarkup; }

}  // namespace headlight
