import {render, setViews} from '../../../../src/show/page/page.js';
import {view} from '../../../../src/show/page/state.js';
import {buildModelView} from '../../../../src/show/page/views/model.js';
import {equal, test} from '../harness.js';
import {openSample, sampleData} from '../sample.js';

const stage = document.getElementById('stage');

function openModel(data, changes) {
  openSample(data);
  Object.assign(view, {tab: 'model', ...changes});
  setViews({model: buildModelView});
  render();
}

test('the model view has the thumbnails of both documents', () => {
  openModel(sampleData(), {});
  equal(stage.querySelectorAll('.thumbnails').length, 2);
  equal(document.getElementById('tools').hidden, true);
});

test('an open head is shown beside the text with its links', () => {
  openModel({...sampleData(), beside: -1}, {open: true, head: '0.1', token: 2});
  equal([stage.querySelectorAll('.heat').length, stage.querySelectorAll('.thumbnails').length],
        [1, 0]);
  equal(stage.querySelector('h3').textContent.trim(), '·sat 2 attends to');
  equal(stage.querySelectorAll('.links li').length, 2);
  equal(document.getElementById('name').textContent, 'Layer 0 · Head 1');
});

test('a click on the map chooses its query', () => {
  openModel({...sampleData(), beside: -1}, {open: true, head: '0.1'});
  const marks = stage.querySelector('.marks');
  const {left, top, width, height} = marks.getBoundingClientRect();
  // This point is in the first column and the second row.
  marks.dispatchEvent(
    new MouseEvent('click', {clientX: left + width * 0.3, clientY: top + height * 0.3}));
  equal(view.token, 1);
});

test('a document without the head shows a note', () => {
  const data = sampleData();
  data.documents[1].layers.pop();
  openModel(data, {open: true, head: '1.1'});
  equal(stage.querySelectorAll('.heat').length, 1);
  equal(stage.querySelector('section:nth-child(2) .hint').textContent,
        'No head 1.1 in this document.');
});
