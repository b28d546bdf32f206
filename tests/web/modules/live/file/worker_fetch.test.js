import {workerFetch} from '../../../../../src/show/page/live/file/worker_fetch.js';
import {equal, test} from '../../harness.js';

// Stands in for a worker: `answer(worker, message)` is called for each message to it.
class FakeWorker extends EventTarget {
  constructor(answer) {
    super();
    this.left = [];
    this.answer = answer;
  }
  postMessage(message) {
    message.leave === undefined ? this.answer(this, message) : this.left.push(message.leave);
  }
  tell(data) {
    this.dispatchEvent(new MessageEvent('message', {data}));
  }
}

const problemOf = (promise) => promise.then(() => 'none', (error) => error.message);

test('an answer in pieces is a stream', async () => {
  const worker = new FakeWorker((self, {question, path}) => {
    self.tell({question, status: 200, text: path, isLast: false});
    self.tell({question: question + 1, status: 200, text: 'another', isLast: true});
    self.tell({question, status: 0, text: ' 가', isLast: false});
    self.tell({question, status: 0, text: '', isLast: true});
  });
  const answer = await workerFetch(() => worker)('/a');
  equal([answer.status, await answer.text()], [200, '/a 가']);
});

test('an answer that breaks off is not complete', async () => {
  const worker = new FakeWorker((self, {question}) => {
    self.tell({question, status: 200, text: 'data: 1', isLast: false});
    self.tell({question, status: 500, text: '{"error":{"message":"no memory"}}', isLast: true});
  });
  const reader = (await workerFetch(() => worker)('/a')).body.pipeThrough(new TextDecoderStream()).getReader();
  equal(await problemOf(reader.read().then(() => reader.read())), 'no memory');
});

test('a refusal is an answer', async () => {
  const worker = new FakeWorker((self, {question}) => self.tell({question, status: 400, text: 'no', isLast: true}));
  const answer = await workerFetch(() => worker)('/a');
  equal([answer.status, await answer.text()], [400, 'no']);
});

test('the questions of a worker that dies fail, later ones as well', async () => {
  const worker = new FakeWorker(() => {});
  const other = new FakeWorker(() => {});
  const ask = workerFetch((path) => path === '/other' ? other : worker, (problem) => `<${problem}>`);
  const asked = [ask('/a'), ask('/b')].map(problemOf);
  let isOver = false;
  ask('/other').then(() => { isOver = true; }, () => { isOver = true; });
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  worker.tell({problem: 'full'});
  equal(await Promise.all(asked), ['<full>', '<full>']);
  equal(await problemOf(ask('/c')), '<full>');
  equal(isOver, false);
  other.dispatchEvent(Object.assign(new Event('error'), {message: 'gone'}));
  equal(await problemOf(ask('/other')), '<gone>');
});

test('an aborted question leaves the worker', async () => {
  const worker = new FakeWorker(() => {});
  const controller = new AbortController();
  const asked = problemOf(workerFetch(() => worker)('/a', {signal: controller.signal}));
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  controller.abort(new Error('enough'));
  equal([await asked, worker.left], ['enough', [1]]);
});
