import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** What only a step of the engine says of a record or an effect. Whoever asks for a step may name some other members, too. */
const decided: ReadonlySet<string> = new Set([
  ...['state', 'fence', 'attempt', 'claimId', 'leaseUntil', 'onLeaseOver', 'recoveryPoint', 'isBegun', 'answer'],
  ...['evidence', 'errorCode', 'doubtedAt', 'reconcileAfter', 'dueAt', 'started', 'finished', 'providerId'],
  ...['firstStartedAt', 'createdAt', 'lastRunAt', 'completedAt', 'progress', 'answerVersion', 'isPassed'],
])

const folder = 'test/simulation'

/** What is written there all the same, and decides nothing: of a whole file, or of one name in it. */
const exceptions: Readonly<Record<string, string>> = {
  'database/copies.ts': 'what is asked for is copied whole, before anybody decides anything',
  'database/call-deeds.ts: state': 'a doubt is asked for, and no failure',
  'operator.ts': 'a person says what he has seen, and asks for a step by it',
  'programs.ts: attempt': 'the body of an answer tells which attempt has made it',
  'effect-kinds.ts: [kind]': 'a node knows the effects that its requests may lead to',
  'node.ts: answer': 'a node answers',
  'node.ts: [name]': 'a worker has options by its name',
  'main.ts: [feature]': 'what was come by is counted',
  'exhaustive.ts: [last]': 'a list of choices goes on with the next one',
  'database/database.ts: [of]': 'ids are counted',
  'database/shared-statements.ts: [kind]': 'statements that are under way are counted',
  'world/faults.ts: [kind]': 'what may still go wrong is counted',
  'world/faults.ts: [kind as keyof Budget]': 'from some point on nothing goes wrong',
}

/** What its database asks of a record or an effect all the same, as it stands in the source. */
const asked: Readonly<Record<string, string>> = {
  "database/call-deeds.ts: state !== 'completed'": 'an event locks what is open',
  "database/call-deeds.ts: state !== 'expired'": 'an event locks what is open',
  'database/effect-batches.ts: finishedAt <= now() - keepMs': 'whoever reaps says how old',
  'database/effect-reads.ts: effect.state === state': 'whoever lists says which',
  'database/effect-reads.ts: finishedAt >= since': 'whoever lists says which',
  "database/effect-reads.ts: state === 'done'": 'those are listed that are done',
  "database/effects.ts: effect.state === 'done'": 'reads back what became of a commit',
  'database/effects.ts: effect?.fence === fence': 'reads back what became of a commit',
  'database/phase.ts: row?.record.claimId === claim.claimId': 'reads back what became of a commit',
  'database/record-batches.ts: now() < expiresAt': 'for whoever judges',
  "database/record-batches.ts: state === 'expired'": 'for whoever judges',
  "database/record-batches.ts: state === 'failed_retryable'": 'for whoever judges',
  'database/record-batches.ts: recoveryPoint !== started': 'for whoever judges',
  "database/record-batches.ts: state === 'in_progress'": 'leases that are over come first',
  "database/record-batches.ts: state !== 'in_progress'": 'leases that are over come first',
}

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
)

test('the simulation decides nothing of a record or an effect by itself', () => {
  expect(files.length).toBeGreaterThan(60)
  const found = files.flatMap((name) =>
    decisions(readFileSync(join(folder, name), 'utf8')).map((what) => ({ name, what: `${name}: ${what}` })),
  )
  expect(found.filter(({ name, what }) => !(name in exceptions || what in exceptions))).toEqual([])
  const used = new Set(found.flatMap(({ name, what }) => [name, what]))
  expect(Object.keys(exceptions).filter((exception) => !used.has(exception))).toEqual([])
})

test('its database does not ask by itself what only a step decides by', () => {
  const stores = files.filter((name) => name.startsWith('database/'))
  const found = stores.flatMap((name) =>
    conditions(readFileSync(join(folder, name), 'utf8')).map((what) => `${name}: ${what}`),
  )
  expect([...new Set(found)].sort()).toEqual(Object.keys(asked).sort())
})

test('a condition of a step that is written down a second time is seen', () => {
  const source = `
    const isOver = record.state === 'expired' && now >= expiresAt
    const isFree = !(leaseUntil > now()) || record['fence'] !== claim.fence
    const isSame = record.id === found.id
    if (states.has(state)) return`
  expect(conditions(source)).toEqual([
    "record.state === 'expired'",
    'now >= expiresAt',
    'leaseUntil > now()',
    "record['fence'] !== claim.fence",
  ])
})

test.each([
  ['in a literal', '({ ...record, state: "unknown", leaseUntil: undefined })', ['state', 'leaseUntil']],
  ['by its own name', 'changedRecord(record, { fence })', ['fence']],
  ['in quotes', '({ "state": "unknown", ["leaseUntil"]: undefined, [`dueAt`]: 1 })', ['state', 'leaseUntil', 'dueAt']],
  [
    'by an assignment',
    'next.state = "unknown"; next["leaseUntil"] = undefined; next.fence++',
    ['state', 'leaseUntil', 'fence'],
  ],
  ['by one that may be none', 'next.answer ??= other; --next.attempt', ['answer', 'attempt']],
  ['by taking it away', 'delete next.leaseUntil', ['leaseUntil']],
  ['by taking it apart', '[next.state, { a: next.fence }] = both', ['state', 'fence']],
  ['by assigning a whole', 'Object.assign(next, { state: "unknown" })', ['state']],
  [
    'by its name',
    'Reflect.set(next, "state", "unknown"); Object.defineProperty(next, "dueAt", {})',
    ['state', 'dueAt'],
  ],
  ['by a name that is found elsewhere', 'next[name] = 1; ({ [name]: 1 })', ['[name]', '[name]']],
  ['by a member that computes it', '({ get state() { return "unknown" }, answer() {} })', ['state', 'answer']],
] as const)('a step that is written down a second time %s is seen', (_, source, names) => {
  expect(decisions(source)).toEqual(names)
})

test('who only looks is not seen', () => {
  const looking = `
    const { state, fence: raised } = record
    const isOver = record.state === 'completed' && record['leaseUntil'] <= now
    type Named = Pick<StoredRecord, 'state' | 'fence'>
    interface Given { readonly state: string }
    ;[{ state: before.was }] = [record]
    counts[0] = 1`
  expect(decisions(looking)).toEqual([])
})

/** The names that are written of all that only a step decides, in order. */
function decisions(source: string): readonly string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    for (const name of writtenBy(node)) names.push(name)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest, true))
  return names
}

/** The comparisons by what only a step decides by, as they are spelt. */
function conditions(source: string): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isComparing(node.operatorToken.kind) && isAskedBy(node))
      found.push(node.getText().replaceAll(/\s+/g, ' '))
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest, true))
  return found
}

/** Whether something is there at all decides nothing. */
function isAskedBy({ left, right }: ts.BinaryExpression): boolean {
  return right.getText() !== 'undefined' && [left, right].some(isDecidedBy)
}

/** A member of a record or an effect that a step decides by, or a variable of that name. */
function isDecidedBy(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return judgedBy.has(node.text)
  if (ts.isPropertyAccessExpression(node)) return judgedBy.has(node.name.text)
  if (!ts.isElementAccessExpression(node)) return false
  const { argumentExpression: name } = node
  return ts.isStringLiteralLike(name) && judgedBy.has(name.text)
}

const judgedBy: ReadonlySet<string> = new Set([
  ...decided,
  'expiresAt',
  'finishedAt',
  'hasEffects',
  'generation',
  'claimId',
])

function isComparing(kind: ts.SyntaxKind): boolean {
  const { LessThanToken, GreaterThanEqualsToken, EqualsEqualsToken, ExclamationEqualsEqualsToken } = ts.SyntaxKind
  const isOrdering = kind >= LessThanToken && kind <= GreaterThanEqualsToken
  return isOrdering || (kind >= EqualsEqualsToken && kind <= ExclamationEqualsEqualsToken)
}

/** What this very node writes: a member of a literal, something that is assigned or taken away, or a member that is named. */
function writtenBy(node: ts.Node): readonly string[] {
  if (ts.isObjectLiteralElementLike(node) && ts.isObjectLiteralExpression(node.parent))
    return isTakenApart(node.parent) ? [] : wantedOf(node.name)
  if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) return targetsIn(node.left)
  if (ts.isDeleteExpression(node)) return targetsIn(node.expression)
  if ((ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) && isCounting(node.operator))
    return targetsIn(node.operand)
  if (ts.isCallExpression(node)) return node.arguments.filter(ts.isStringLiteralLike).flatMap(wantedOf)
  return []
}

/** What an assignment writes, also where it takes something apart. */
function targetsIn(node: ts.Expression): readonly string[] {
  if (ts.isPropertyAccessExpression(node)) return wantedOf(node.name)
  if (ts.isElementAccessExpression(node)) return wantedOf(node.argumentExpression)
  if (ts.isParenthesizedExpression(node) || ts.isSpreadElement(node)) return targetsIn(node.expression)
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(targetsIn)
  if (!ts.isObjectLiteralExpression(node)) return []
  return node.properties.flatMap((member) => (ts.isPropertyAssignment(member) ? targetsIn(member.initializer) : []))
}

/** The name of what only a step decides, or how it is spelt where nobody can tell. */
function wantedOf(name: ts.PropertyName | ts.Expression | undefined): readonly string[] {
  if (name === undefined || ts.isNumericLiteral(name) || ts.isPrivateIdentifier(name)) return []
  if (ts.isComputedPropertyName(name)) return spelt(name.expression)
  if (ts.isIdentifier(name) && !ts.isElementAccessExpression(name.parent))
    return decided.has(name.text) ? [name.text] : []
  return spelt(name)
}

function spelt(name: ts.Node): readonly string[] {
  if (!ts.isStringLiteralLike(name)) return [`[${name.getText()}]`]
  return decided.has(name.text) ? [name.text] : []
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
}

function isCounting(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.PlusPlusToken || kind === ts.SyntaxKind.MinusMinusToken
}

/** Of a literal that an assignment takes apart, the names are only looked at. */
function isTakenApart(literal: ts.Node): boolean {
  const { parent } = literal
  if (ts.isBinaryExpression(parent)) return isAssignment(parent.operatorToken.kind) && parent.left === literal
  return ts.isArrayLiteralExpression(parent) && isTakenApart(parent)
}
