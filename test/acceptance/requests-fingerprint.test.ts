import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type PolicyOptions, recipeOf } from 'hapax'
