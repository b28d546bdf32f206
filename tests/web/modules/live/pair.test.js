import {carryName, recoveredShare} from '../../../../src/show/page/live/carry.js';
import {carryOf, cellTable} from '../../../../src/show/page/live/pair.js';
import {equal, test} from '../harness.js';

test('cells of heads are arranged by layer and head', () => {
  const cells = [[0, 0], [0, 1], [1, 0], [1, 2]].map(([layer, item]) => ({layer, item, position: null}));
  const {rows, columns, places} = cellTable(cells, 'head');
  equal([rows, columns], [['0', '1'], [0, 1, 2]]);
  equal(places.map((cell) => cell && [cell.layer, cell.item]), [[0, 0], [0, 1], null, [1, 0], null, [1, 2]]);
  equal(carryOf(cells[3], 'z'), {part: '1.2', from: null, to: null});
});

test('cells of tokens are arranged by layer or head and by token', () => {
  const byLayer = [[0, 3], [0, 4], [1, 3], [1, 4]].map(([layer, position]) => ({layer, item: null, position}));
  equal(cellTable(byLayer, 'position').rows, ['0', '1']);
  equal(cellTable(byLayer, 'position').columns, [3, 4]);
  equal(carryOf(byLayer[1], 'mlp_out'), {part: 'mlp_out.0', from: 4, to: 4});
  equal(cellTable([{layer: 1, item: 2, position: 0}], 'head,position').rows, ['1.2']);
});

test('the share that is recovered', () => {
  equal([recoveredShare(3, -1, 1), recoveredShare(3, -1, -1), recoveredShare(3, -1, 3), recoveredShare(1, 1, 1)],
        [0.5, 0, 1, null]);
});

test('the result of a carried activation names its tokens', () => {
  equal(carryName({part: 'resid_post.1', from: 1, to: 0}, ['a', ' key'], [' hat']), 'stream after layer 1: 1 ·key → 0 ·hat');
  equal(carryName({part: '0.1', from: null, to: null}, [], []), 'head 0.1');
});
