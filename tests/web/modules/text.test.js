import {documents, view} from '../../../src/show/page/state.js';
import {colourText, textBox, textNodes, tokenSpan} from '../../../src/show/page/text.js';
import {equal, test} from './harness.js';
import {openBlank, openSample} from './sample.js';

test('line ends are shown and break the line, and empty tokens are shown', () => {
  equal(tokenSpan('a\nb', 3, 'token-0').outerHTML,
        '<span id="token-0-3" role="option" data-token="3">a<i>⏎</i>\nb</span>');
  equal(tokenSpan('', 0, 't').textContent, '∅');
  equal(tokenSpan('<b>', 0, 't').textContent, '<b>');
});

test('a line end that closes a token follows its span', () => {
  const [first, lineEnd, second] = textNodes([tokenSpan('a\n', 0, 't'), tokenSpan('b', 1, 't')]);
  equal([first.textContent, lineEnd, second.textContent], ['a⏎', '\n', 'b']);
});

test('the box marks the chosen token', () => {
  openSample();
  view.token = 1;
  const {node, spans, mark} = textBox(documents[0], 0);
  mark();
  equal(node.textContent, 'the cat sat⏎\n down');
  equal(node.getAttribute('aria-label'), 'Tokens of the cat sat down');
  equal(node.getAttribute('aria-activedescendant'), 'token-0-1');
  equal(spans.map((span) => span.getAttribute('aria-selected')),
        ['false', 'true', 'false', 'false', 'false']);
});

test('tokens are coloured by their links, keys that cannot be seen are faint', () => {
  openSample();
  view.token = 2;
  const {spans} = textBox(documents[0], 0);
  colourText(documents[0].byName.get('0.1'), spans);
  equal(spans.map((span) => span.style.backgroundColor !== ''), [false, true, true, false, false]);
  equal(spans.map((span) => span.classList.contains('unseen-key')),
        [false, false, false, true, true]);
});

test('a click chooses a token', () => {
  openBlank('model');
  const {spans} = textBox(documents[0], 0);
  spans[3].click();
  equal(view.token, 3);
});
