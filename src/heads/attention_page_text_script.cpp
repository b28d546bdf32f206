#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const kLinks = 5;        // strongest links listed per token
const kTableRows = 100;  // queries in the table of a long text
const kSmallestLink = 0.0005;  // prints as 0.001

const tokenNodes = data.tokens.map((token, i) => {
  const node = element('span', {id: `token-${i}`, role: 'option'});
  node.dataset.token = i;
  // A line end is drawn as well as obeyed, or it could be neither seen nor chosen.
  token.split('\n').forEach((part, line) => {
    node.append(...(line > 0 ? [element('i', {textContent: '⏎'}), '\n'] : []), part);
  });
  if (token === '') {
    node.append(element('i', {textContent: '∅'}));
  }
  return node;
});

const focusToken = () => view.hovered ?? view.token;

// The weight between the chosen token and token `i`, in the chosen direction.
function linkWeight(i, chosen = focusToken()) {
  const [query, key] = view.direction === 'gives' ? [chosen, i] : [i, chosen];
  return isBlank(query, key) ? null : view.weights[query * count + key];
}

// The `limit` largest weights as [weight, token], the largest first.
function strongest(weightOf, limit) {
  const links = [];
  for (let i = 0; i < count; ++i) {
    const weight = weightOf(i);
    if (weight >= kSmallestLink) {
      links.push([weight, i]);
    }
  }
  return links.sort((a, b) => b[0] - a[0]).slice(0, limit);
}

function colourText() {
  const css = palette().css;
  tokenNodes.forEach((node, i) => {
    const weight = linkWeight(i);
    const shade = weight === null ? 0 : level(weight);
    // The lowest colours are those of the ground: leaving them out keeps the text calm.
    const coloured = shade >= 6;
    node.style.backgroundColor = coloured ? css[shade] : '';
    node.style.color = coloured ? inkOn(shade) : '';
    node.classList.toggle('unseen-key', weight === null);
    node.classList.toggle('chosen', i === focusToken());
    node.setAttribute('aria-selected', i === view.token);
  });
}

function linkRow([weight, i]) {
  const bar = element('i');
  bar.style.width = `${100 * Math.min(1, weight)}%`;
  bar.style.backgroundColor = palette().css[Math.max(level(weight), 60)];
  return element('li', {},
    element('span', {}, ...tokenName(i)),
    element('span', {className: 'number', textContent: weight.toFixed(3)}),
    element('span', {className: 'track', ariaHidden: 'true'}, bar));
}

function listLinks() {
  const links = strongest(linkWeight, kLinks);
  const gives = view.direction === 'gives';
  let note = gives ? ' looks at' : ' is looked at by';
  let sum = '';
  if (links.length === 0) {
    note = gives ? ' gives no weight to show' : ' receives no weight to show';
  } else if (!gives) {
    const total = data.tokens.reduce((sum, _, i) => sum + (linkWeight(i) ?? 0), 0);
    sum = `${total.toFixed(2)} in sum over all queries`;
  }
  byId('chosen').replaceChildren(...tokenName(focusToken()), note, ' ',
    element('span', {className: 'place', textContent: sum}));
  byId('links').replaceChildren(...links.map(linkRow));
}

// Shows the links of the chosen token in the text, the list and the map.
function showToken() {
  colourText();
  listLinks();
  drawMarks(null);
}

// Tells screen readers what a choice changed; hovering stays silent.
function announce() {
  const links = strongest((i) => linkWeight(i, view.token), 3)
    .map(([weight, i]) => `${data.labels[i]} at ${i}: ${weight.toFixed(3)}`);
  byId('status').textContent = `Head ${view.head.name}, token ${view.token} ` +
    `${data.labels[view.token]} ${view.direction} ${links.join(', ') || 'nothing'}`;
}

// Brings the chosen token into view inside the box of the text, without moving the page.
function scrollToToken() {
  const box = byId('text');
  const node = tokenNodes[view.token];
  const top = node.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + node.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = top - box.clientHeight / 2;
  }
}

function chooseToken(i) {
  view.token = Math.max(0, Math.min(count - 1, i));
  view.hovered = null;
  byId('text').setAttribute('aria-activedescendant', `token-${view.token}`);
  showToken();
  announce();
  writeAddress(true);
}

function moveTip(event) {
  const tip = byId('tip');
  const {width, height} = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 16, innerWidth - width - 8);
  const y = event.clientY + 20 + height > innerHeight ? event.clientY - height - 14
                                                      : event.clientY + 20;
  tip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
}

// "query → key: 0.873 (position i → j)".
function showTip(event, {query, key}) {
  const tip = byId('tip');
  const name = (i) => element('bdi', {textContent: data.labels[i]});
  const weight = view.weights[query * count + key].toFixed(3);
  tip.replaceChildren(name(query), ' → ', name(key), ': ', element('b', {textContent: weight}),
    element('small', {textContent: `position ${query} → ${key}` +
      (view.hideFirst ? ', first token hidden' : '')}));
  tip.hidden = false;
  moveTip(event);
}

function hideTip() {
  byId('tip').hidden = true;
}

function tableRow(query) {
  const links = strongest((key) => isBlank(query, key) ? 0 : view.weights[query * count + key],
                          kLinks);
  const row = element('tr', {}, element('th', {scope: 'row'}, ...tokenName(query)));
  for (let i = 0; i < kLinks; ++i) {
    const link = links[i];
    row.append(element('td', {}, ...(link ? [
      ...tokenName(link[1]), ' ', element('span', {className: 'number',
                                                   textContent: link[0].toFixed(3)})] : [])));
  }
  return row;
}

// The head in words: for every query the keys it weighs most; for a long text only the queries
// whose strongest link is strongest.
function fillTable() {
  if (!byId('table-box').open || view.head === null) {
    return;
  }
  const largest = (query) =>
    view.weights.subarray(query * count, (query + 1) * count).reduce((a, b) => Math.max(a, b), 0);
  const queries = data.tokens.map((_, query) => [largest(query), query])
    .sort((a, b) => b[0] - a[0]).slice(0, kTableRows).map(([, query]) => query)
    .sort((a, b) => a - b);
  const limited = count > kTableRows ? ` of the ${kTableRows} most decided queries` : '';
  const titles = ['Query', 'Strongest key', 'Second', 'Third', 'Fourth', 'Fifth'];
  byId('table').replaceChildren(
    element('caption', {textContent: `Head ${view.head.name}: the strongest keys${limited}, ` +
      'each with its position and weight'}),
    element('thead', {}, element('tr', {}, ...titles.map((title) =>
      element('th', {scope: 'col', textContent: title})))),
    element('tbody', {}, ...queries.map(tableRow)));
}
)js";

}  // namespace

std::string_view attention_page_text_script() { return kScript; }

}  // namespace headlight
