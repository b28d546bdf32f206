import {render, setViews} from '../../../../src/show/page/page.js';
import {documents, view} from '../../../../src/show/page/state.js';
import {buildNeuronView, neuronSteps,
        numberPixels} from '../../../../src/show/page/views/neuron.js';
import {equal, near, test} from '../harness.js';
import {openSample, sampleData} from '../sample.js';

const stage = document.getElementById('stage');

function openNeurons(head) {
  openSample({...sampleData(), beside: -1});
  Object.assign(view, {tab: 'neuron', head, token: 2});
  setViews({neuron: buildNeuronView});
  render();
}

test('the steps lead from the vectors to the weights', () => {
  openSample();
  const {q, keys} = neuronSteps(documents[0].byName.get('1.0'), 2);
  near([...q], [1, 0], 1e-3);
  // Key k is (k, 1): the scores are k / sqrt(2).
  near(keys.map(({score}) => score), [0, 1, 2].map((key) => key / Math.sqrt(2)), 1e-3);
  const sum = [0, 1, 2].reduce((all, key) => all + Math.exp(key / Math.sqrt(2)), 0);
  near(keys.map(({weight}) => weight), [0, 1, 2].map((key) => Math.exp(key / Math.sqrt(2)) / sum),
       1e-3);
  near([...keys[2].product], [2, 0], 1e-3);
});

test('the sign of a number sets its colour and its size the opacity', () => {
  const {data} = numberPixels([1, -2, 0], 2);
  equal([3, 7, 11].map((at) => data[at]), [128, 255, 0]);
  equal([data[2] > data[0], data[4] > data[6]], [true, true], 'blue above 0, orange below:');
  equal(numberPixels([0], 0).data[3], 0);
});

test('the table has a row for each key that the query sees', () => {
  openNeurons('1.1');
  equal(stage.querySelectorAll('.neurons tbody tr').length, 3);
  equal(stage.querySelector('.query-line .label').textContent, '·sat');
  // The sample's weights of head 1.1 do not follow from its queries and keys.
  equal(stage.querySelector('.difference').textContent.startsWith('at most 0.'), true);
});

test('a head without vectors shows how to record them', () => {
  openNeurons('0.1');
  equal(stage.querySelector('.missing').textContent.includes('--neurons'), true);
});
