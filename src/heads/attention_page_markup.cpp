#include "heads/attention_page.h"

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
<main>
<section id="overview" aria-label="All heads">
<div class="scroller"><div id="grid" role="group" aria-label="Heads, layers as rows"></div></div>
<p class="hint">Rows of a map are queries, columns are keys. Choose a head to read it beside the
text.</p>
</section>
<section id="detail" aria-labelledby="name" hidden>
<div class="bar" id="bar">
<button type="button" id="back" class="quiet"><span aria-hidden="true">←</span> All heads</button>
<h2 id="name" tabindex="-1"></h2>
<dl id="figures"></dl>
<div id="navigator" role="group" aria-label="Go to a head"></div>
</div>
<div class="split">
<div id="map"><canvas id="heat" role="img"></canvas><canvas id="marks" aria-hidden="true"></canvas>
</div>
<div class="reading">
<div class="segmented" role="group" aria-label="Colour the text by">
<button type="button" id="gives">Weight it gives</button>
<button type="button" id="receives">Weight it receives</button></div>
<div id="text" role="listbox" tabindex="0" translate="no" aria-label="Tokens of the text"></div>
<h3 id="chosen"></h3>
<ol id="links"></ol>
</div>
</div>
<details id="table-box"><summary>Strongest links as a table</summary>
<div class="scroller"><table id="table"></table></div></details>
</section>
</main>
<footer>
<p class="keys"><kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> move between heads,
<kbd>Enter</kbd> opens one, <kbd>Esc</kbd> closes it. In the text,
<kbd>←</kbd> <kbd>→</kbd> choose a token.</p>
<p>Weights are stored as 16-bit integers, in steps of 1/65535: before any rescaling, a
shown weight is within 0.00001 of the model's.</p>
</footer>
<div id="tip" aria-hidden="true" hidden></div>
<p id="status" class="unseen" role="status"></p>
)html";

}  // namespace

std::string_view attention_page_markup() { return kMarkup; }

}  // namespace headlight
