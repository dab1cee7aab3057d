;;; smoke.el --- The smallest Emacs client of jumpseat  -*- lexical-binding: t; -*-
;;; Commentary:
;; This client is also a smoke test: `emacs --batch -Q -l smoke.el'.  JUMPSEAT_COMMAND is the command of
;; the daemon as a JSON array (default: jumpseat attach), JUMPSEAT_BASE_URL an OpenAI-compatible API.
;;; Code:
(require 'jsonrpc)

(defvar smoke-cancel-turn nil "The turn to cancel at its first words.")

(defun smoke-notified (connection method params)
  "Print the text deltas of CONNECTION; METHOD and PARAMS describe the notification."
  (when (eq method 'chat/delta)
    (let ((delta (plist-get params :delta)))
      (when (equal (plist-get delta :type) "text_delta")
        (princ (plist-get delta :text))
        ;; jsonrpc.el hides request ids, so a turn is cancelled by the id that we gave it.
        (when (and smoke-cancel-turn (equal (plist-get params :turnId) smoke-cancel-turn))
          (setq smoke-cancel-turn nil)
          (jsonrpc-async-request connection 'chat/cancel (list :turnId (plist-get params :turnId))
                                 :success-fn #'ignore))))))

(defvar smoke-connection
  (jsonrpc-process-connection
   :name "jumpseat" :notification-dispatcher #'smoke-notified
   :process (make-process :name "jumpseat" :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                          :command (append (json-parse-string (or (getenv "JUMPSEAT_COMMAND")
                                                                  "[\"jumpseat\", \"attach\"]")) nil)
                          :stderr (get-buffer-create "*jumpseat stderr*"))))

(defun smoke-request (method params)
  "Return the result of METHOD with PARAMS."
  (jsonrpc-request smoke-connection method params :timeout 20))

(defun smoke-chat (turn messages &optional tools)
  "Return the result of the turn TURN with MESSAGES, which may use TOOLS (a vector)."
  (smoke-request 'chat/start (append (list :turnId turn :model "fake:fake-model" :messages messages)
                                     (and tools (list :tools tools)))))

(smoke-request 'initialize
               `(:processId ,(emacs-pid) :capabilities nil :rootUri nil :initializationOptions
                 (:config (:providers (:fake (:kind "openai" :api_key "fake-key"
                                              :base_url ,(getenv "JUMPSEAT_BASE_URL")))))))
(jsonrpc-notify smoke-connection 'initialized nil)

(let* ((question '(:role "user" :content "Say hello."))
       (hello (smoke-chat "hello" (vector question)))
       (partial (condition-case failure
                    (progn (setq smoke-cancel-turn "cancelled")
                           (error "Not cancelled: %S" (smoke-chat "cancelled" (vector question))))
                  (jsonrpc-error (unless (eql -32800 (alist-get 'jsonrpc-error-code (cdr failure)))
                                   (signal (car failure) (cdr failure)))
                                 (plist-get (alist-get 'jsonrpc-error-data (cdr failure)) :partial))))
       (tools [(:name "weather" :description "The weather in a city."
                :parameters (:type "object" :properties (:city (:type "string"))))])
       (call (smoke-chat "call" (vector question) tools))
       (tool-use (aref (plist-get call :toolCalls) 0))
       (result (list :type "tool_result" :toolUseId (plist-get tool-use :id) :content "sunny"))
       (answer (smoke-chat "answer" (vector question
                                            (list :role "assistant" :content (plist-get call :content))
                                            (list :role "user" :content (vector result)))
                           tools))
       (process (jsonrpc--process smoke-connection)))
  (smoke-request 'shutdown nil)
  (jsonrpc-notify smoke-connection 'exit nil)
  (with-timeout (20 (error "The daemon does not exit"))
    (while (process-live-p process) (accept-process-output process 1)))
  (unless (eql 0 (process-exit-status process)) (error "Exit code %s" (process-exit-status process)))
  (princ (format "\n%s\n" (json-serialize
                           (list :hello (plist-get hello :text) :partial (plist-get partial :text)
                                 :city (plist-get (plist-get tool-use :arguments) :city)
                                 :answer (plist-get answer :text))))))
;;; smoke.el ends here
