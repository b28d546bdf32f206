import {ask, askLong, clearWarnings, eventReader, page} from '../../../../src/show/page/live/server.js';
import {equal, test} from '../harness.js';

const kStream = 'data: {"a":1}\n\n: a comment\n\ndata: {"b":"x y"}\n\ndata: [DONE]\n\n';

test('events are complete wherever a stream is split', () => {
  for (const size of [1, 2, 7, 15, 16, 17, kStream.length]) {
    const read = eventReader();
    const events = [];
    for (let at = 0; at < kStream.length; at += size) {
      events.push(...read(kStream.slice(at, at + size)));
    }
    equal(events, [{a: 1}, {b: 'x y'}], `pieces of ${size}:`);
  }
});

test('an error in a stream is thrown', () => {
  const read = eventReader();
  let message = '';
  try {
    read('data: {"error":{"message":"no room"}}\n\n');
  } catch (error) {
    ({message} = error);
  }
  equal(message, 'no room');
});

test('several refused requests ask for the key only once', async () => {
  const real = window.fetch;
  let enter = null;
  let logins = 0;
  let isKnown = false;
  window.fetch = async (path) => Response.json({path}, {status: isKnown ? 200 : 401});
  page.login = () => {
    ++logins;
    return new Promise((resolve) => { enter = resolve; });
  };
  try {
    const answers = Promise.all([ask('/one'), ask('/two')]);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    equal(logins, 1);
    isKnown = true;
    enter();
    equal(await answers, [{path: '/one'}, {path: '/two'}]);
  } finally {
    window.fetch = real;
    page.login = null;
  }
});

test('warnings are those about the shown text', async () => {
  const {fetch, showWarnings} = page;
  let shown = null;
  page.showWarnings = (warnings) => { shown = warnings; };
  page.fetch = async () => new Response('data: {"warnings":["odd"]}\n\n');
  try {
    await askLong('/scores', {}, null, () => {});
    equal(shown, ['odd']);
    clearWarnings();
    await askLong('/scores', {}, null, () => {}, {warns: false});
    equal(shown, [], 'an answer about another text:');
    const late = askLong('/scores', {}, null, () => {});
    clearWarnings();
    await late;
    equal(shown, [], 'a late answer about the text before:');
  } finally {
    Object.assign(page, {fetch, showWarnings});
  }
});
