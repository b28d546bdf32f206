import {element} from '../../../../../src/show/page/dom.js';
import {openStory, stateQuery, stepOf} from '../../../../../src/show/page/live/file/story.js';
import {session} from '../../../../../src/show/page/live/session.js';
import {equal, test} from '../../harness.js';

test('the step of an address is one of the story, else the first', () => {
  equal(['', '?step=2', '?step=3', '?step=0', '?step=4', '?step=-1', '?step=1.5', '?step=x', '?text=a'].map((query) => stepOf(query, 3)),
        [1, 2, 3, 0, 1, 1, 1, 1, 1]);
});

test('a step has the state of its address, and the language of the page', () => {
  const read = (...query) => Object.fromEntries(new URLSearchParams(stateQuery(...query)));
  equal(read('?part=heads&text=a+%26+b#grid/0.1', 2, '?step=1&lang=ko&text=old'), {part: 'heads', text: 'a & b', step: '2', lang: 'ko'});
  equal(read('#model', 1, ''), {step: '1'});
});

// Opens a story in an address, and calls `see` before the page is as before.
function withStory(query, see, hasLanguages = false) {
  const before = location.href;
  const frame = element('div', {}, element('div', {className: 'choices'}, element('div', {id: 'parts'})), element('a', {id: 'link'}),
                        element('a', {id: 'language', textContent: '한국어 / English'}));
  const old = document.getElementById('link');
  document.body.prepend(frame);
  history.replaceState(null, '', `${location.pathname}${query}`);
  try {
    openStory({title: 'A title', steps: [
      {title: 'First', text: 'One & two.', address: '?part=heads&text=a#grid/0.1'},
      {title: 'Second', text: '둘', address: '?part=layers&text=b&changes=0.1:off'}]}, hasLanguages);
    see(Object.fromEntries(['story', 'story-title', 'story-text', 'story-place', 'story_previous', 'story_next', 'story_back']
      .map((id) => [id, document.getElementById(id)])));
  } finally {
    history.replaceState(null, '', before);
    session.step = null;
    document.body.classList.remove('story', 'switching');
    frame.remove();
    equal(document.getElementById('link'), old);
  }
}

test('a story opens with its first step', () => withStory('', (shown) => {
  equal([shown['story-title'], shown['story-text'], shown['story-place']].map((node) => node.textContent), ['First', 'One & two.', '1 / 2']);
  equal([shown.story_previous.disabled, shown.story_next.disabled, shown.story.hidden, shown.story_back.hidden], [true, false, false, true]);
  equal([shown.story.ariaLabel, document.body.className.includes('story'), session.step], ['A title', true, 1]);
  equal([new URLSearchParams(location.search).get('text'), location.hash], ['a', '#grid/0.1']);
}));

test('a story opens with the step of the address, whose own fragment stays', () => withStory('?step=2&lang=ko#model/0.1', (shown) => {
  equal([shown['story-title'].textContent, shown['story-text'].textContent, shown['story-place'].textContent], ['Second', '둘', '2 / 2']);
  equal([shown.story_previous.disabled, shown.story_next.disabled], [false, true]);
  equal(Object.fromEntries(new URLSearchParams(location.search)), {part: 'layers', text: 'b', changes: '0.1:off', step: '2', lang: 'ko'});
  equal(document.body.className.includes('switching'), true);
  equal(location.hash, '#model/0.1');
}));

test('a story in two languages has a link to the same step in the other', () => withStory('?step=2', ({story}) => {
  const link = document.getElementById('story-language');
  equal([story.contains(link), link.textContent], [true, '한국어 / English']);
  history.replaceState(null, '', '?step=1#grid/0.1');
  link.dispatchEvent(new Event('focus'));
  const {search, hash} = new URL(link.href);
  equal([search, hash], ['?step=1&lang=ko', '#grid/0.1']);
}, true));

test('a story in one language has no such link', () => withStory('', () => {
  equal(document.getElementById('story-language'), null);
}));

test('step 0 shows the whole page, with a way back', () => withStory('?step=0', (shown) => {
  equal([shown.story.hidden, shown.story_back.hidden, document.body.className.includes('story'), session.step], [true, false, false, 0]);
}));
