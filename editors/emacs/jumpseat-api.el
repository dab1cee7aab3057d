;;; jumpseat-api.el --- Requests from Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The functions for other packages and for the user's own commands: requests
;; to models with callbacks, the list of models, context, and presets.

;;; Code:

(require 'jumpseat-context)
(require 'jumpseat-models)
(require 'jumpseat-presets)
(require 'jumpseat-region)
(require 'jumpseat-turn)
(require 'jumpseat-workspace)

(defun jumpseat-api--make-messages (prompt context)
  "Return the messages of PROMPT, with CONTEXT before the last question.
PROMPT is a string, a list of strings of the user and the assistant in turn, or
a list of messages as property lists."
  (let* ((role "assistant")
         (messages (mapcar (lambda (each)
                             (if (not (stringp each)) each
                               (setq role (if (equal role "user") "assistant" "user"))
                               (list :role role :content (vector (list :type "text" :text each)))))
                           (if (stringp prompt) (list prompt) prompt)))
         (last (car (last messages))))
    (when context
      (let ((content (plist-get last :content)))
        (setq messages
              (append (butlast messages)
                      (list (list :role (plist-get last :role)
                                  :content (vconcat context
                                                    (if (stringp content)
                                                        (vector (list :type "text" :text content))
                                                      content))))))))
    (vconcat messages)))

(defun jumpseat-api--make-info (outcome)
  "Return the property list for the callback of a request, from OUTCOME."
  (let ((result (or (plist-get outcome :result)
                    (jumpseat--get outcome :error :data :partial)))
        (err (plist-get outcome :error)))
    (list :status (cond ((plist-get outcome :cancelled) 'stopped) (err 'failed) (t 'done))
          :error (and err (not (plist-get outcome :cancelled)) (jumpseat--format-error err))
          :text (let ((text (plist-get result :text)))
                  (unless (and err (string-empty-p (or text ""))) text))
          :model (when (plist-get result :model)
                   (concat (plist-get result :provider) ":" (plist-get result :model)))
          :stop-reason (plist-get result :stopReason)
          :usage (plist-get result :usage)
          :content (plist-get result :content)
          :conversation (plist-get result :conversationId))))

(defun jumpseat-api--handle (turn delta on-text on-event approve)
  "Pass DELTA of TURN to ON-EVENT, and its text to ON-TEXT.
If DELTA asks for an approval, call APPROVE; without APPROVE, deny the call."
  (when on-event (funcall on-event delta))
  (pcase (plist-get delta :type)
    ("text_delta" (when on-text (funcall on-text (plist-get delta :text))))
    ("tool_approval"
     (let ((decide (lambda (allowed)
                     (jumpseat--turn-decide turn (plist-get delta :toolUseId)
                                            (if allowed "allow" "deny") #'ignore))))
       (if approve (funcall approve delta decide)
         (funcall decide nil))))))

(cl-defun jumpseat-request (prompt &key callback on-text on-event approve preset model system
                                   settings context tools conversation keep)
  "Send PROMPT to a model, and return an object for `jumpseat-request-stop'.
PROMPT is a question, or a list of texts of the user and the assistant in turn,
or a list of messages (:role ROLE :content BLOCKS) of the daemon's protocol.

This function returns immediately.  The functions below are called later, in the
buffer that is current now, or in a temporary buffer if that buffer was killed.

CALLBACK is called once, at the end, with the text or nil, and a property list:
  :status        `done', `stopped' or `failed'
  :error         a sentence for the user, if the request failed
  :model         the model that answered, as provider:model
  :stop-reason   such as \"end_turn\" or \"max_tokens\"
  :usage         the tokens, in the form of the protocol
  :content       the blocks of the answer, to be sent back in a later request
  :conversation  the id of the kept conversation

ON-TEXT is called with each piece of the answer's text, at most about 20 times
per second.
ON-EVENT is called with each delta of the protocol.
APPROVE is called for each tool call that needs the user's approval, with the
delta `tool_approval' and a function.  Call this function with t to allow the
tool call, or with nil to deny it.  Without APPROVE, such calls are denied.

PRESET is the name of a preset of `jumpseat-presets'.  These keys override it:
MODEL is a string provider:model, SYSTEM a text, SETTINGS a property list such
as (:temperature 0.2), CONTEXT a list of blocks (see `jumpseat-context-region'
and `jumpseat-context-file'), and TOOLS a list of selectors as in
`jumpseat-tools'.  CONVERSATION is the id of a kept conversation to continue;
with KEEP, the daemon keeps the conversation."
  (let* ((preset-values (jumpseat--preset-get preset))
         (tools (or tools (plist-get preset-values :tools)))
         (buffer (current-buffer))
         (run (lambda (function &rest arguments)
                (if (buffer-live-p buffer)
                    (with-current-buffer buffer (apply function arguments))
                  (with-temp-buffer (apply function arguments)))))
         (turn nil))
    (setq turn
          (jumpseat--turn-start
           "chat/start"
           (append (list :messages (jumpseat-api--make-messages prompt context)
                         :model (or model (plist-get preset-values :model) jumpseat-model)
                         :system (or system (plist-get preset-values :system))
                         :settings (append settings (plist-get preset-values :settings))
                         :conversationId conversation
                         :keep (if keep t :json-false))
                   (jumpseat--workspace-params tools))
           (lambda (delta)
             (funcall run #'jumpseat-api--handle turn delta on-text on-event approve))
           (lambda (outcome)
             (when callback
               (let ((info (jumpseat-api--make-info outcome)))
                 (funcall run callback (plist-get info :text) info))))))))

(defun jumpseat-request-stop (request)
  "Stop REQUEST, an object that `jumpseat-request' returned.
Its callback is called with the text received so far."
  (jumpseat--turn-stop request))

(defun jumpseat-request-running-p (request)
  "Whether REQUEST, an object that `jumpseat-request' returned, has not ended."
  (not (jumpseat--turn-ended request)))

(defun jumpseat-models (callback)
  "Call CALLBACK with the list of models, or with nil and an error message.
Each model is a property list of the protocol with :id, :name, :provider,
:maxContextTokens and more."
  (jumpseat--models-get
   "models/list"
   (lambda (err result)
     (if err (funcall callback nil (jumpseat--format-error err))
       (funcall callback (jumpseat--list (plist-get result :models)) nil)))))

;;; Context

(defun jumpseat-context-region (beg end)
  "Return the context block for the text from BEG to END of this buffer."
  (jumpseat--region-block beg end))

(defun jumpseat-context-file (file)
  "Return the block for FILE: its text, an image or a document."
  (jumpseat--context-file-block (expand-file-name file)))

(provide 'jumpseat-api)
;;; jumpseat-api.el ends here
