import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plantTree } from './planted-tree.js'

const files = {
  'src/kernel/limits.ts': 'export const limit = 1\n',
  'src/engine/store.ts':
    "import { createHash } from 'node:crypto'\nimport '../kernel/limits.js'\nexport { createHash }\n",
  'src/stores/memory.ts': "import '../engine/store.js'\n",
  'src/stores/sqlite/index.ts': "import 'libsql'\nimport '../../engine/store.js'\nimport './statements.js'\n",
  'src/stores/sqlite/statements.ts': 'export const statement = 1\n',
  'src/kernel/reads-files.ts': "import 'node:fs'\n",
  'src/kernel/reaches-up.ts': "import '../engine/store.js'\n",
  'src/engine/reads-files.ts': "import 'node:fs'\n",
  'src/engine/knows-a-store.ts': "import type {} from '../stores/memory.js'\n",
  'src/engine/parses-headers.ts': "import 'structured-headers'\n",
  'src/engine/circle.ts': "import './half.js'\n",
  'src/engine/half.ts': "import './circle.js'\n",
  'src/stores/sqlite/borrows.ts': "import '../memory.js'\n",
  'src/client/fetch.ts': "import '../engine/store.js'\n",
  'src/client/reads-files.ts': "import 'node:fs'\n",
  'src/client/node/files.ts': "import 'node:fs'\nimport '../../kernel/limits.js'\n",
  'src/client/stores-files.ts': "import './node/files.js'\n",
  'src/adapters/express.ts': "import '../stores/memory.js'\n",
  'src/index.ts': "import './stores/memory.js'\n",
  'src/misc/alone.ts': 'export const alone = 1\n',
  'src/stores/novel/index.ts': "import '../../kernel/limits.js'\n",
  'examples/shop/src/main.ts': "import '../../../src/engine/store.js'\n",
  'examples/shop/src/server.ts': "import 'node:http'\nimport './main.js'\n",
  'examples/sandbox/src/problem.ts': 'export const problem = 1\n',
  'examples/sandbox/src/calls.ts': "import './providers/server.js'\n",
  'examples/sandbox/src/providers/server.ts': "import 'node:http'\nimport './journal.js'\n",
  'examples/sandbox/src/providers/journal.ts': "import '../problem.js'\n",
}

const refusals = {
  'src/kernel/reads-files.ts': 'the kernel imports nothing, not even Node',
  'src/kernel/reaches-up.ts': 'the kernel does not know the engine',
  'src/engine/reads-files.ts': 'the engine takes from Node only what is listed',
  'src/engine/knows-a-store.ts': 'the engine knows no store, not even as a type',
  'src/engine/parses-headers.ts': 'the engine takes no package that is not listed for it',
  'src/engine/circle.ts': 'no imports in a circle',
  'src/stores/sqlite/borrows.ts': 'no store imports another',
  'src/client/fetch.ts': 'the client imports the kernel only',
  'src/client/reads-files.ts': 'the client runs in a browser',
  'src/client/stores-files.ts': 'what is for Node alone is not reached from what is not',
  'src/adapters/express.ts': 'an adapter knows the door and no store',
  'src/index.ts': 'the root entry point loads no store',
  'src/misc/alone.ts': 'a folder that is not on the list fails though it imports nothing',
  'src/stores/novel/index.ts': 'a store that is not on the list fails',
  'examples/shop/src/main.ts': 'an example uses published entry points only',
  'examples/sandbox/src/providers/journal.ts': 'the simulated providers share nothing with the API',
  'examples/sandbox/src/calls.ts': 'the API knows the simulated providers over HTTP only',
}

let violating: ReadonlySet<string>
let remove: () => void

beforeAll(() => {
  const tree = plantTree(['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'], files)
  remove = tree.remove
  violating = cruise(tree.folder)
}, 60_000)

afterAll(() => remove())

describe('the boundaries refuse', () => {
  test.each(Object.entries(refusals))('%s: %s', (file) => {
    expect(violating).toContain(file)
  })
})

test('everything else passes', () => {
  const innocent = Object.keys(files).filter((file) => !(file in refusals) && file !== 'src/engine/half.ts')
  expect(innocent.filter((file) => violating.has(file))).toEqual([])
})

/** The files whose imports break a rule. */
function cruise(folder: string): ReadonlySet<string> {
  const args = ['src', 'examples', '--output-type', 'json']
  const { stdout } = spawnSync(resolve('node_modules/.bin/depcruise'), args, { cwd: folder, encoding: 'utf8' })
  const { summary } = JSON.parse(stdout) as { summary: { violations: { from: string }[] } }
  return new Set(summary.violations.map(({ from }) => from))
}
